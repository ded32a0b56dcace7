import com.github.mustachejava.DefaultMustacheFactory;
import io.javalin.Javalin;
import io.javalin.http.Context;
import io.javalin.http.NotFoundResponse;
import io.javalin.rendering.FileRenderer;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.sql.SQLException;
import java.util.Map;
import java.util.zip.CRC32;
import org.eclipse.jetty.server.ServerConnector;

public class Hello {
    static FileRenderer mustache(File folder) {
        var templates = new DefaultMustacheFactory(folder);
        return (path, model, context) -> {
            var page = new StringWriter();
            templates.compile(path).execute(page, model);
            return page.toString();
        };
    }

    static void pause(Context context) throws InterruptedException {
        Thread.sleep(10);
        context.result("waited");
    }

    static void echo(Context context) {
        context.json(context.bodyValidator(Data.Message.class).get().read());
    }

    static void upload(Context context) throws IOException {
        var body = context.bodyInputStream();
        var checksum = new CRC32();
        var piece = new byte[65536];
        long length = 0;
        for (int size; (size = body.read(piece)) >= 0; length += size) {
            checksum.update(piece, 0, size);
        }
        context.result("%d %08x".formatted(length, checksum.getValue()));
    }

    static void item(Context context, Items items) throws SQLException {
        var item = items.find(context.queryParamAsClass("id", Integer.class).get());
        if (item == null) {
            throw new NotFoundResponse();
        }
        context.json(item);
    }

    static void order(Context context, String collection) {
        var page = context.queryParam("page");
        context.result(collection + " " + context.pathParam("id") + " " + context.pathParam("order")
            + " " + (page == null ? "" : page));
    }

    public static void main(String[] args) throws Exception {
        var items = new Items(System.getenv("DATABASE_URL"));
        var protocols = Transport.protocols();
        Javalin.create(config -> {
            config.startup.showJavalinBanner = false;
            config.jetty.addConnector((server, http) -> {
                var connector = new ServerConnector(server, 1, Integer.parseInt(args[2]), protocols);
                connector.setHost(args[0]);
                connector.setPort(Integer.parseInt(args[1]));
                connector.setAcceptQueueSize(4096);
                return connector;
            });
            config.fileRenderer(mustache(new File(args[3])));
            config.routes.get("/", context -> context.result("Hello, World!"));
            config.routes.get("/wait", Hello::pause);
            config.routes.get("/json", context -> context.json(Data.account()));
            config.routes.get("/page", context -> context.render("page.mustache", Map.of("rows", Data.ROWS)));
            config.routes.get("/db", context -> item(context, items));
            config.routes.post("/echo", Hello::echo);
            config.routes.post("/upload", Hello::upload);
            for (int n = 0; n < 100; n++) {
                var collection = n == 0 ? "users" : "resource" + n;
                config.routes.get("/" + collection + "/{id}/orders/{order}", context -> order(context, collection));
            }
        }).start();
    }
}
