import java.util.zip.CRC32

import scala.concurrent.Future
import scala.concurrent.duration._

import akka.pattern.after
import akka.stream.scaladsl.Sink
import akka.util.ByteString
import play.api.{BuiltInComponents, Mode}
import play.api.libs.json._
import play.api.libs.streams.Accumulator
import play.api.mvc.BodyParser
import play.api.mvc.Results.Ok
import play.api.routing.Router.Routes
import play.api.routing.sird._
import play.core.server.{NettyServer, ServerConfig}

object Hello {
  /** Reads a body in pieces. The result is its length and its checksum. */
  private def checksum(components: BuiltInComponents): BodyParser[String] = BodyParser("checksum") { _ =>
    import components.executionContext
    val crc = new CRC32
    val length = Sink.fold[Long, ByteString](0L) { (sum, piece) =>
      piece.asByteBuffers.foreach(buffer => crc.update(buffer))
      sum + piece.length
    }
    Accumulator(length).map(sum => Right(f"$sum ${crc.getValue}%08x"))
  }

  private def hello(components: BuiltInComponents): Routes = {
    import components.{actorSystem, executionContext, playBodyParsers, defaultActionBuilder => action}
    {
      case GET(p"/") => action(Ok("Hello, World!"))
      case GET(p"/wait") =>
        action.async(after(10.millis, actorSystem.scheduler)(Future.successful(Ok("waited"))))
      case GET(p"/json") => action(Ok(Data.account))
      case POST(p"/echo") =>
        action(playBodyParsers.json[JsObject])(request => Ok(request.body + ("seen" -> JsTrue)))
      case GET(p"/page") => action(Ok(Page.render(Data.rows)))
      case POST(p"/upload") => action(checksum(components))(request => Ok(request.body))
    }
  }

  private def orders(components: BuiltInComponents, collection: String): Routes = {
    val path = StringContext(s"/$collection/", "/orders/", "").p

    {
      case GET(path(id, order) ? q"page=$page") =>
        components.defaultActionBuilder(Ok(s"$collection $id $order $page"))
    }
  }

  def main(args: Array[String]): Unit = {
    val port = Some(args(1).toInt)
    val (plain, secure) = if (sys.env.contains("CERT")) (None, port) else (port, None)
    val config = ServerConfig(address = args(0), port = plain, sslPort = secure, mode = Mode.Prod)
    val collections = "users" +: (1 to 99).map(n => s"resource$n")
    NettyServer.fromRouterWithComponents(config) { components =>
      collections.map(orders(components, _)).foldLeft(hello(components))(_ orElse _)
    }
  }
}
