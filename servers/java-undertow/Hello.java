import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.Version;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import io.undertow.util.PathTemplateMatch;
import io.undertow.util.SameThreadExecutor;
import io.undertow.util.StatusCodes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.xnio.Options;

public class Hello {
    static final ObjectMapper MAPPER = new ObjectMapper();

    static void text(HttpServerExchange exchange, String body) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
        exchange.getResponseSender().send(body);
    }

    static void pause(HttpServerExchange exchange) {
        Runnable answer = () -> text(exchange, "waited");
        exchange.dispatch(SameThreadExecutor.INSTANCE, () ->
            exchange.getIoThread().executeAfter(answer, 10, TimeUnit.MILLISECONDS));
    }

    static void json(HttpServerExchange exchange, Object value) throws JsonProcessingException {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        exchange.getResponseSender().send(ByteBuffer.wrap(MAPPER.writeValueAsBytes(value)));
    }

    static void page(HttpServerExchange exchange) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/html; charset=utf-8");
        exchange.getResponseSender().send(Page.render(Data.ROWS));
    }

    static void echo(HttpServerExchange exchange) {
        exchange.getRequestReceiver().receiveFullBytes((same, body) -> {
            try {
                json(exchange, MAPPER.readValue(body, Data.Message.class).read());
            } catch (IOException error) {
                exchange.setStatusCode(StatusCodes.BAD_REQUEST).endExchange();
            }
        });
    }

    static void upload(HttpServerExchange exchange) {
        var checksum = new CRC32();
        long[] length = {0};
        exchange.getRequestReceiver().receivePartialBytes((same, piece, last) -> {
            checksum.update(piece);
            length[0] += piece.length;
            if (last) {
                text(exchange, "%d %08x".formatted(length[0], checksum.getValue()));
            }
        });
    }

    static void order(String collection, HttpServerExchange exchange) {
        var path = exchange.getAttachment(PathTemplateMatch.ATTACHMENT_KEY).getParameters();
        var page = exchange.getQueryParameters().get("page");
        text(exchange, collection + " " + path.get("id") + " " + path.get("order") + " "
            + (page == null ? "" : page.getFirst()));
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            System.out.println(Version.getVersionString());
            return;
        }
        var routes = Handlers.routing()
            .get("/", exchange -> text(exchange, "Hello, World!"))
            .get("/wait", Hello::pause)
            .get("/json", exchange -> json(exchange, Data.account()))
            .get("/page", Hello::page)
            .post("/echo", Hello::echo)
            .post("/upload", Hello::upload);
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            routes.get("/" + collection + "/{id}/orders/{order}", exchange -> order(collection, exchange));
        }
        var port = Integer.parseInt(args[1]);
        var cert = System.getenv("CERT");
        var server = Undertow.builder();
        if (cert == null) {
            server.addHttpListener(port, args[0]);
        } else {
            server.addHttpsListener(port, args[0], Tls.context(cert, System.getenv("KEY")));
        }
        server.setServerOption(UndertowOptions.ENABLE_HTTP2, System.getenv("HTTP2") != null)
            .setIoThreads(Integer.parseInt(args[2]))
            .setSocketOption(Options.BACKLOG, 4096)
            .setHandler(routes)
            .build()
            .start();
    }
}
