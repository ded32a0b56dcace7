import akka.actor.ActorSystem
import akka.http.scaladsl.Http
import akka.http.scaladsl.server.Directives._
import akka.stream.ActorMaterializer

object Hello {
  def main(args: Array[String]): Unit = {
    implicit val system: ActorSystem = ActorSystem("hello")
    implicit val materializer: ActorMaterializer = ActorMaterializer()
    val route = pathSingleSlash { get { complete("Hello, World!") } }
    Http().bindAndHandle(route, args(0), args(1).toInt)
  }
}
