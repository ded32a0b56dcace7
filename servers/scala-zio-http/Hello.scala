import zio.*
import zio.http.*
import zio.http.netty.NettyConfig

object Hello extends ZIOAppDefault:
  private val routes = Routes(Method.GET / Root -> handler(Response.text("Hello, World!")))

  def run =
    for
      args <- getArgs
      plain = Server.Config.default.binding(args(0), args(1).toInt).soBacklog(4096)
      config = sys.env.get("CERT").fold(plain)(cert => plain.ssl(SSLConfig.fromFile(cert, sys.env("KEY"))))
      netty = NettyConfig.default.maxThreads(args(2).toInt)
      _ <- Server
        .serve(routes)
        .provide(ZLayer.succeed(config), ZLayer.succeed(netty), Server.customized)
    yield ()
