import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.Version;
import io.undertow.util.Headers;
import org.xnio.Options;

public class Hello {
    public static void main(String[] args) {
        if (args.length != 3) {
            System.out.println(Version.getVersionString());
            return;
        }
        var routes = Handlers.routing().get("/", exchange -> {
            exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
            exchange.getResponseSender().send("Hello, World!");
        });
        Undertow.builder()
            .addHttpListener(Integer.parseInt(args[1]), args[0])
            .setIoThreads(Integer.parseInt(args[2]))
            .setSocketOption(Options.BACKLOG, 4096)
            .setHandler(routes)
            .build()
            .start();
    }
}
