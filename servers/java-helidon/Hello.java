import io.helidon.http.HeaderNames;
import io.helidon.webserver.WebServer;

public class Hello {
    public static void main(String[] args) {
        WebServer.builder()
            .host(args[0])
            .port(Integer.parseInt(args[1]))
            .backlog(4096)
            .routing(routes -> routes.get("/", (request, response) -> {
                response.header(HeaderNames.CONTENT_TYPE, "text/plain");
                response.send("Hello, World!");
            }))
            .build()
            .start();
    }
}
