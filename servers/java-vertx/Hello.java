import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;

public class Hello extends VerticleBase {
    private final String host;
    private final int port;

    Hello(String host, int port) {
        this.host = host;
        this.port = port;
    }

    @Override
    public Future<?> start() {
        var router = Router.router(vertx);
        router.get("/").handler(context ->
            context.response().putHeader("content-type", "text/plain").end("Hello, World!"));
        return vertx.createHttpServer(new HttpServerOptions().setAcceptBacklog(4096))
            .requestHandler(router)
            .listen(port, host);
    }

    public static void main(String[] args) {
        var workers = Integer.parseInt(args[2]);
        Vertx.vertx(new VertxOptions().setEventLoopPoolSize(workers)).deployVerticle(
            () -> new Hello(args[0], Integer.parseInt(args[1])),
            new DeploymentOptions().setInstances(workers));
    }
}
