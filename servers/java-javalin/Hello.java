import io.javalin.Javalin;
import org.eclipse.jetty.server.ServerConnector;

public class Hello {
    public static void main(String[] args) {
        Javalin.create(config -> {
            config.startup.showJavalinBanner = false;
            config.jetty.addConnector((server, http) -> {
                var connector = new ServerConnector(server, 1, Integer.parseInt(args[2]));
                connector.setHost(args[0]);
                connector.setPort(Integer.parseInt(args[1]));
                connector.setAcceptQueueSize(4096);
                return connector;
            });
            config.routes.get("/", context -> context.result("Hello, World!"));
        }).start();
    }
}
