import cats.effect.{ExitCode, IO, IOApp}
import cats.implicits._
import org.http4s.HttpRoutes
import org.http4s.dsl.io._
import org.http4s.server.blaze.BlazeServerBuilder

object Hello extends IOApp {
  private val routes = HttpRoutes.of[IO] { case GET -> Root => Ok("Hello, World!") }

  def run(args: List[String]): IO[ExitCode] =
    BlazeServerBuilder[IO]
      .bindHttp(args(1).toInt, args(0))
      .withConnectorPoolSize(args(2).toInt)
      .withHttpApp(routes.orNotFound)
      .serve
      .compile
      .drain
      .as(ExitCode.Success)
}
