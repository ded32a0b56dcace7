import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.server.Directives.*

object Hello:
  def main(args: Array[String]): Unit =
    given ActorSystem = ActorSystem("hello")
    val route = pathSingleSlash { get { complete("Hello, World!") } }
    Http().newServerAt(args(0), args(1).toInt).bind(route)
