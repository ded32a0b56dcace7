import akka.actor.ActorSystem
import colossus.core.{IOSystem, ServerSettings}
import colossus.protocols.http.HttpMethod.Get
import colossus.protocols.http.UrlParsing._
import colossus.protocols.http.{Http, HttpServer, Initializer, RequestHandler}
import colossus.service.Callback
import colossus.service.GenRequestHandler.PartialHandler

object Hello {
  def main(args: Array[String]): Unit = {
    implicit val actors: ActorSystem = ActorSystem("hello")
    implicit val io: IOSystem = IOSystem()
    val settings = ServerSettings
      .load("hello", actors.settings.config)
      .copy(addresses = Seq(args(0)), port = args(1).toInt)
    HttpServer.start("hello", settings) { context =>
      new Initializer(context) {
        override def onConnect: RequestHandlerFactory = server =>
          new RequestHandler(server) {
            override def handle: PartialHandler[Http] = {
              case request @ Get on Root => Callback.successful(request.ok("Hello, World!"))
            }
          }
      }
    }
  }
}
