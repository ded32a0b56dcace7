import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.concurrent.Executors;

public class Hello {
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);

    static void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            var asked = exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath();
            if (!asked.equals("GET /")) {
                exchange.sendResponseHeaders(404, -1);
                return;
            }
            exchange.getResponseHeaders().set("Content-Type", "text/plain");
            exchange.sendResponseHeaders(200, HELLO.length);
            exchange.getResponseBody().write(HELLO);
        }
    }

    static HttpServer listen(InetSocketAddress address) throws GeneralSecurityException, IOException {
        var cert = System.getenv("CERT");
        if (cert == null) {
            return HttpServer.create(address, 4096);
        }
        var server = HttpsServer.create(address, 4096);
        server.setHttpsConfigurator(new HttpsConfigurator(Tls.context(cert, System.getenv("KEY"))));
        return server;
    }

    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
        var server = listen(address);
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[2])));
        server.createContext("/", Hello::answer);
        server.start();
    }
}
