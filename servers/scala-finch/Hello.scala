import cats.effect.IO
import com.twitter.finagle.Http
import com.twitter.util.Await
import io.finch._
import io.finch.catsEffect._

object Hello {
  private val hello: Endpoint[IO, String] = get(pathEmpty) { Ok("Hello, World!") }

  def main(args: Array[String]): Unit = {
    val service = Bootstrap.serve[Text.Plain](hello).toService
    Await.ready(Http.server.serve(s"${args(0)}:${args(1)}", service))
  }
}
