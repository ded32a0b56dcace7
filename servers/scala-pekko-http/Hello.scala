import java.util.zip.CRC32

import scala.concurrent.Future
import scala.concurrent.duration.*

import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.{ConnectionContext, Http}
import org.apache.pekko.http.scaladsl.marshallers.sprayjson.SprayJsonSupport.*
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.pattern.after

import Data.given

object Hello:
  /** Reads a body in pieces. The answer is its length and its checksum. */
  private def upload(using ActorSystem): Route = extractDataBytes { pieces =>
    val crc = CRC32()
    val length = pieces.runFold(0L) { (sum, piece) =>
      piece.asByteBuffers.foreach(buffer => crc.update(buffer))
      sum + piece.length
    }
    onSuccess(length)(sum => complete(f"$sum ${crc.getValue}%08x"))
  }

  private def orders(collection: String): Route =
    path(collection / Segment / "orders" / Segment) { (id, order) =>
      get { parameter("page") { page => complete(s"$collection $id $order $page") } }
    }

  def main(args: Array[String]): Unit =
    given ActorSystem = ActorSystem("hello")
    val hello = concat(
      pathSingleSlash { get { complete("Hello, World!") } },
      path("wait") { get { complete(after(10.millis)(Future.successful("waited"))) } },
      path("json") { get { complete(Data.account) } },
      path("echo") {
        post { entity(as[Data.Message]) { message => complete(message.copy(seen = true)) } }
      },
      path("page") {
        get { complete(HttpEntity(ContentTypes.`text/html(UTF-8)`, Page.render(Data.rows).body)) }
      },
      path("upload") { post { upload } }
    )
    val collections = "users" +: (1 to 99).map(n => s"resource$n")
    val server = Http().newServerAt(args(0), args(1).toInt)
    val secured = sys.env.get("CERT").fold(server) { cert =>
      server.enableHttps(ConnectionContext.httpsServer(Tls.context(cert, sys.env("KEY"))))
    }
    secured.bind(concat((hello +: collections.map(orders))*))
