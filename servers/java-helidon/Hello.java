import io.helidon.common.configurable.Resource;
import io.helidon.common.pki.Keys;
import io.helidon.http.HeaderNames;
import io.helidon.http.Status;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import io.helidon.webserver.http1.Http1Config;
import jakarta.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.zip.CRC32;

public class Hello {
    static void text(ServerResponse response, String body) {
        response.header(HeaderNames.CONTENT_TYPE, "text/plain");
        response.send(body);
    }

    // Over HTTP/2, Helidon 4.5 sends no response to a request whose handler throws.
    static void refuse(ServerResponse response, Status status, String reason) {
        response.status(status).send(reason);
    }

    static void pause(ServerRequest request, ServerResponse response) throws InterruptedException {
        Thread.sleep(10);
        text(response, "waited");
    }

    static void page(ServerRequest request, ServerResponse response) {
        response.header(HeaderNames.CONTENT_TYPE, "text/html; charset=utf-8");
        response.send(Page.render(Data.ROWS));
    }

    static void echo(ServerRequest request, ServerResponse response) {
        JsonObject message;
        try {
            message = request.content().as(JsonObject.class);
        } catch (RuntimeException error) {  // no body, no JSON, or no object
            refuse(response, Status.BAD_REQUEST_400, "expected a JSON object");
            return;
        }
        response.send(Data.read(message));
    }

    static void upload(ServerRequest request, ServerResponse response) throws IOException {
        var checksum = new CRC32();
        var piece = new byte[65536];
        long length = 0;
        try (var body = request.content().inputStream()) {
            for (int size; (size = body.read(piece)) >= 0; length += size) {
                checksum.update(piece, 0, size);
            }
        }
        text(response, "%d %08x".formatted(length, checksum.getValue()));
    }

    static void item(Items items, ServerRequest request, ServerResponse response) throws SQLException {
        int id;
        try {
            id = Integer.parseInt(request.query().first("id").orElse(""));
        } catch (NumberFormatException error) {
            refuse(response, Status.BAD_REQUEST_400, "expected a number");
            return;
        }
        var item = items.find(id);
        if (item == null) {
            refuse(response, Status.NOT_FOUND_404, "no such item");
            return;
        }
        response.send(item.json());
    }

    static void order(String collection, ServerRequest request, ServerResponse response) {
        var path = request.path().pathParameters();
        text(response, collection + " " + path.get("id") + " " + path.get("order") + " "
            + request.query().first("page").orElse(""));
    }

    static void route(HttpRouting.Builder routes) {
        var items = new Items(System.getenv("DATABASE_URL"));
        routes.get("/", (request, response) -> text(response, "Hello, World!"));
        routes.get("/wait", Hello::pause);
        routes.get("/json", (request, response) -> response.send(Data.account()));
        routes.get("/page", Hello::page);
        routes.get("/db", (request, response) -> item(items, request, response));
        routes.post("/echo", Hello::echo);
        routes.post("/upload", Hello::upload);
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            routes.get("/" + collection + "/{id}/orders/{order}",
                (request, response) -> order(collection, request, response));
        }
    }

    public static void main(String[] args) {
        var server = WebServer.builder()
            .host(args[0])
            .port(Integer.parseInt(args[1]))
            .backlog(4096)
            .routing(Hello::route);
        if (System.getenv("CERT") != null) {
            var keys = Keys.builder().pem(pem -> pem
                .certChain(Resource.create(Path.of(System.getenv("CERT"))))
                .key(Resource.create(Path.of(System.getenv("KEY"))))).build();
            server.tls(tls -> tls.privateKey(keys).privateKeyCertChain(keys));
        }
        if (System.getenv("HTTP2") == null) {
            server.protocolsDiscoverServices(false).addProtocol(Http1Config.create());
        }
        server.build().start();
    }
}
