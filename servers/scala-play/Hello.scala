import play.api.Mode
import play.api.mvc.Results.Ok
import play.api.routing.sird._
import play.core.server.{NettyServer, ServerConfig}

object Hello {
  def main(args: Array[String]): Unit = {
    val config = ServerConfig(address = args(0), port = Some(args(1).toInt), mode = Mode.Prod)
    NettyServer.fromRouterWithComponents(config) { components =>
      { case GET(p"/") => components.defaultActionBuilder(Ok("Hello, World!")) }
    }
  }
}
