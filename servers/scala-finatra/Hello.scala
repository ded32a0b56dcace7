import com.twitter.finagle.Http
import com.twitter.finagle.http.{Request, Response}
import com.twitter.finagle.stack.nilStack
import com.twitter.finagle.stats.NullStatsReceiver
import com.twitter.finatra.http.filters.HttpResponseFilter
import com.twitter.finatra.http.routing.HttpRouter
import com.twitter.finatra.http.{Controller, HttpServer}

class HelloController extends Controller {
  get("/") { _: Request => response.ok("Hello, World!").contentType("text/plain") }
}

object Hello extends HttpServer {
  private val bare = flag("bare", false, "Leave out Finagle's stack of filters")

  override val disableAdminHttpServer = true

  override def configureHttpServer(server: Http.Server): Http.Server = {
    val quiet = server.withStatsReceiver(NullStatsReceiver)
    if (bare()) quiet.withCompressionLevel(0).withStack(nilStack[Request, Response]) else quiet
  }

  override def configureHttp(router: HttpRouter): Unit =
    router.filter[HttpResponseFilter[Request]].add[HelloController]
}
