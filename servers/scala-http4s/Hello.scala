import java.util.zip.CRC32

import scala.concurrent.duration._

import cats.effect.{ExitCode, IO, IOApp}
import cats.implicits._
import io.circe.Json
import org.http4s.{Charset, EntityEncoder, HttpRoutes, MediaType, Request}
import org.http4s.circe._
import org.http4s.dsl.io._
import org.http4s.headers.`Content-Type`
import org.http4s.server.Router
import org.http4s.server.blaze.BlazeServerBuilder
import play.twirl.api.Html

object Hello extends IOApp {
  private implicit val htmlEncoder: EntityEncoder[IO, Html] =
    EntityEncoder.stringEncoder[IO]
      .contramap[Html](_.body)
      .withContentType(`Content-Type`(MediaType.text.html, Charset.`UTF-8`))

  private object PageParameter extends QueryParamDecoderMatcher[String]("page")

  /** Reads a body in pieces. The result is its length and its checksum. */
  private def checksum(request: Request[IO]): IO[String] = {
    val crc = new CRC32
    request.body.chunks
      .map { piece =>
        crc.update(piece.toByteBuffer)
        piece.size.toLong
      }
      .compile
      .fold(0L)(_ + _)
      .map(length => f"$length ${crc.getValue}%08x")
  }

  private val hello = HttpRoutes.of[IO] {
    case GET -> Root => Ok("Hello, World!")
    case GET -> Root / "wait" => IO.sleep(10.millis) *> Ok("waited")
    case GET -> Root / "json" => Ok(Data.account)
    case request @ POST -> Root / "echo" =>
      request.decode[Json](message => Ok(message.mapObject(_.add("seen", Json.True))))
    case GET -> Root / "page" => Ok(Page.render(Data.rows))
    case request @ POST -> Root / "upload" => checksum(request).flatMap(Ok(_))
  }

  private def orders(collection: String): HttpRoutes[IO] = HttpRoutes.of[IO] {
    case GET -> Root / id / "orders" / order :? PageParameter(page) => Ok(s"$collection $id $order $page")
  }

  private val collections = "users" +: (1 to 99).map(n => s"resource$n")
  private val routes = hello <+> Router(collections.map(name => s"/$name" -> orders(name)): _*)

  def run(args: List[String]): IO[ExitCode] = {
    val server = BlazeServerBuilder[IO]
      .bindHttp(args(1).toInt, args(0))
      .withConnectorPoolSize(args(2).toInt)
      .withHttpApp(routes.orNotFound)
    sys.env
      .get("CERT")
      .fold(server)(cert => server.withSSLContext(Tls.context(cert, sys.env("KEY"))))
      .serve
      .compile
      .drain
      .as(ExitCode.Success)
  }
}
