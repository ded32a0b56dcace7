import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.DecodeException;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.zip.CRC32;

public class Hello extends VerticleBase {
    private static final DateTimeFormatter DATE =
        DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);

    private final String host;
    private final int port;

    Hello(String host, int port) {
        this.host = host;
        this.port = port;
    }

    static void text(RoutingContext context, String body) {
        context.response().putHeader("content-type", "text/plain").end(body);
    }

    static void echo(RoutingContext context) {
        try {
            context.json(context.body().asJsonObject().put("seen", true));
        } catch (DecodeException error) {
            context.response().setStatusCode(400).end();
        }
    }

    static void upload(RoutingContext context) {
        var checksum = new CRC32();
        long[] length = {0};
        context.request().handler(piece -> {
            checksum.update(piece.getBytes());
            length[0] += piece.length();
        }).endHandler(end -> text(context, "%d %08x".formatted(length[0], checksum.getValue())));
    }

    static void date(RoutingContext context) {
        context.response().putHeader("date", DATE.format(ZonedDateTime.now(ZoneOffset.UTC)));
        context.next();
    }

    static HttpServerOptions options() {
        var options = new HttpServerOptions().setAcceptBacklog(4096);
        var cert = System.getenv("CERT");
        return cert == null ? options : options.setSsl(true).setUseAlpn(true).setKeyCertOptions(
            new PemKeyCertOptions().setCertPath(cert).setKeyPath(System.getenv("KEY")));
    }

    @Override
    public Future<?> start() {
        var router = Router.router(vertx);
        if (System.getenv("DATE") != null) {
            router.route().handler(Hello::date);
        }
        router.get("/").handler(context -> text(context, "Hello, World!"));
        router.get("/wait").handler(context -> vertx.setTimer(10, timer -> text(context, "waited")));
        router.get("/json").handler(context -> context.json(Data.account()));
        router.post("/echo").handler(BodyHandler.create(false)).handler(Hello::echo);
        router.get("/page").handler(context ->
            context.response().putHeader("content-type", "text/html; charset=utf-8").end(Page.render(Data.ROWS)));
        router.post("/upload").handler(Hello::upload);
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            router.get("/" + collection + "/:id/orders/:order").handler(context ->
                text(context, collection + " " + context.pathParam("id") + " "
                    + context.pathParam("order") + " " + context.request().getParam("page")));
        }
        return vertx.createHttpServer(options())
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
