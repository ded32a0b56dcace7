import cats.effect.*
import cats.effect.unsafe.IORuntimeConfig
import com.comcast.ip4s.*
import org.http4s.*
import org.http4s.dsl.io.*
import org.http4s.ember.server.EmberServerBuilder

object Hello extends IOApp:
  private val routes = HttpRoutes.of[IO] { case GET -> Root => Ok("Hello, World!") }

  override protected def computeWorkerThreadCount: Int = sys.env("WORKERS").toInt

  def run(args: List[String]): IO[ExitCode] =
    EmberServerBuilder
      .default[IO]
      .withHost(Host.fromString(args(0)).get)
      .withPort(Port.fromString(args(1)).get)
      .withMaxConnections(4096)
      .withHttpApp(routes.orNotFound)
      .build
      .useForever
