import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.Version;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import io.undertow.util.PathTemplateMatch;
import io.undertow.util.SameThreadExecutor;
import java.util.concurrent.TimeUnit;
import org.xnio.Options;

public class Hello {
    static void text(HttpServerExchange exchange, String body) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
        exchange.getResponseSender().send(body);
    }

    static void pause(HttpServerExchange exchange) {
        Runnable answer = () -> text(exchange, "waited");
        exchange.dispatch(SameThreadExecutor.INSTANCE, () ->
            exchange.getIoThread().executeAfter(answer, 10, TimeUnit.MILLISECONDS));
    }

    static void order(String collection, HttpServerExchange exchange) {
        var path = exchange.getAttachment(PathTemplateMatch.ATTACHMENT_KEY).getParameters();
        var page = exchange.getQueryParameters().get("page");
        text(exchange, collection + " " + path.get("id") + " " + path.get("order") + " "
            + (page == null ? "" : page.getFirst()));
    }

    public static void main(String[] args) {
        if (args.length != 3) {
            System.out.println(Version.getVersionString());
            return;
        }
        var routes = Handlers.routing()
            .get("/", exchange -> text(exchange, "Hello, World!"))
            .get("/wait", Hello::pause);
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            routes.get("/" + collection + "/{id}/orders/{order}", exchange -> order(collection, exchange));
        }
        Undertow.builder()
            .addHttpListener(Integer.parseInt(args[1]), args[0])
            .setIoThreads(Integer.parseInt(args[2]))
            .setSocketOption(Options.BACKLOG, 4096)
            .setHandler(routes)
            .build()
            .start();
    }
}
