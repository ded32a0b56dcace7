import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.pathmap.PathSpec;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.PathMappingsHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

public class Hello extends Handler.Abstract.NonBlocking {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/plain");
        Content.Sink.write(response, true, "Hello, World!", callback);
        return true;
    }

    public static void main(String[] args) throws Exception {
        var server = new Server(new QueuedThreadPool(Integer.parseInt(args[2])));
        var connector = new ServerConnector(server, 1, Integer.parseInt(args[3]));
        connector.setHost(args[0]);
        connector.setPort(Integer.parseInt(args[1]));
        connector.setAcceptQueueSize(4096);
        server.addConnector(connector);
        var routes = new PathMappingsHandler(false);  // a dynamic one counts as blocking
        routes.addMapping(PathSpec.from(""), new Hello());  // the path "/" and no other
        server.setHandler(routes);
        server.start();
        server.join();
    }
}
