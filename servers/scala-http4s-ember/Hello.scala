import java.util.zip.CRC32

import scala.concurrent.duration.*

import cats.effect.*
import cats.syntax.all.*
import com.comcast.ip4s.*
import fs2.io.net.tls.TLSContext
import io.circe.syntax.*
import org.http4s.*
import org.http4s.circe.*
import org.http4s.dsl.io.*
import org.http4s.ember.server.EmberServerBuilder
import org.http4s.headers.`Content-Type`
import org.http4s.server.Router
import play.twirl.api.Html

object Hello extends IOApp:
  private given EntityDecoder[IO, Data.Message] = jsonOf
  private given EntityEncoder[IO, Html] =
    val html = `Content-Type`(MediaType.text.html, Charset.`UTF-8`)
    EntityEncoder.stringEncoder[IO].contramap[Html](_.body).withContentType(html)

  private object PageParameter extends QueryParamDecoderMatcher[String]("page")

  /** Reads a body in pieces. The result is its length and its checksum. */
  private def checksum(request: Request[IO]): IO[String] =
    val crc = CRC32()
    request.body.chunks
      .map { piece =>
        crc.update(piece.toByteBuffer)
        piece.size.toLong
      }
      .compile
      .fold(0L)(_ + _)
      .map(length => f"$length ${crc.getValue}%08x")

  private val hello = HttpRoutes.of[IO] {
    case GET -> Root => Ok("Hello, World!")
    case GET -> Root / "wait" => IO.sleep(10.millis) *> Ok("waited")
    case GET -> Root / "json" => Ok(Data.account.asJson)
    case request @ POST -> Root / "echo" =>
      request.decode[Data.Message](message => Ok(message.copy(seen = true).asJson))
    case GET -> Root / "page" => Ok(Page.render(Data.rows))
    case request @ POST -> Root / "upload" => checksum(request).flatMap(Ok(_))
  }

  private def orders(collection: String): HttpRoutes[IO] = HttpRoutes.of[IO] {
    case GET -> Root / id / "orders" / order :? PageParameter(page) => Ok(s"$collection $id $order $page")
  }

  private val collections = "users" +: (1 to 99).map(n => s"resource$n")
  private val routes = hello <+> Router(collections.map(name => s"/$name" -> orders(name))*)

  override protected def computeWorkerThreadCount: Int = sys.env("WORKERS").toInt

  def run(args: List[String]): IO[ExitCode] =
    val server = EmberServerBuilder
      .default[IO]
      .withHost(Host.fromString(args(0)).get)
      .withPort(Port.fromString(args(1)).get)
      .withMaxConnections(4096)
      .withHttpApp(routes.orNotFound)
    val secured = sys.env.get("CERT").fold(server) { cert =>
      server.withTLS(TLSContext.Builder.forAsync[IO].fromSSLContext(Tls.context(cert, sys.env("KEY"))))
    }
    secured.build.useForever
