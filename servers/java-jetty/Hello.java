import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.pathmap.PathSpec;
import org.eclipse.jetty.http.pathmap.UriTemplatePathSpec;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.PathMappingsHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Promise;
import org.eclipse.jetty.util.URIUtil;
import org.eclipse.jetty.util.ajax.JSON;
import org.eclipse.jetty.util.thread.Invocable;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

public class Hello extends Handler.Abstract.NonBlocking {
    static final JSON MAPPER = new JSON();

    interface Answer {
        void send(Request request, Response response, Callback callback);
    }

    private final HttpMethod method;
    private final Answer answer;

    Hello(HttpMethod method, Answer answer) {
        this.method = method;
        this.answer = answer;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        var head = method == HttpMethod.GET && HttpMethod.HEAD.is(request.getMethod());
        if (!head && !method.is(request.getMethod())) {
            return false;
        }
        answer.send(request, response, callback);
        return true;
    }

    static void send(Response response, String type, String body, Callback callback) {
        response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
        Content.Sink.write(response, true, body, callback);
    }

    static void text(Response response, String body, Callback callback) {
        send(response, "text/plain", body, callback);
    }

    static void pause(Request request, Response response, Callback callback) {
        request.getComponents().getScheduler().schedule(
            () -> text(response, "waited", callback), 10, TimeUnit.MILLISECONDS);
    }

    static void json(Response response, Object value, Callback callback) {
        send(response, "application/json", MAPPER.toJSON(value), callback);
    }

    @SuppressWarnings("unchecked")
    static void echo(Request request, Response response, Callback callback) {
        Content.Source.asString(request, StandardCharsets.UTF_8, Promise.from(body -> {
            try {
                var message = (Map<String, Object>) MAPPER.fromJSON(body);
                message.put("seen", true);
                json(response, message, callback);
            } catch (RuntimeException error) {  // Jetty's parser throws several
                Response.writeError(request, response, callback, HttpStatus.BAD_REQUEST_400);
            }
        }, callback::failed));
    }

    /** Reads a body in pieces, as they arrive. */
    record Upload(Request request, Response response, Callback callback, CRC32 checksum, long[] length)
            implements Invocable.Task {
        @Override
        public InvocationType getInvocationType() {
            return InvocationType.NON_BLOCKING;
        }

        @Override
        public void run() {
            while (true) {
                var piece = request.read();
                if (piece == null) {
                    request.demand(this);
                    return;
                }
                if (Content.Chunk.isFailure(piece)) {
                    callback.failed(piece.getFailure());
                    return;
                }
                length[0] += piece.getByteBuffer().remaining();
                checksum.update(piece.getByteBuffer());
                var last = piece.isLast();
                piece.release();
                if (last) {
                    text(response, "%d %08x".formatted(length[0], checksum.getValue()), callback);
                    return;
                }
            }
        }
    }

    static void order(String collection, PathMappingsHandler routes) {
        var path = new UriTemplatePathSpec("/" + collection + "/{id}/orders/{order}");
        routes.addMapping(path, new Hello(HttpMethod.GET, (request, response, callback) -> {
            var values = path.getPathParams(request.getHttpURI().getCanonicalPath());
            var page = Request.extractQueryParameters(request).getValue("page");
            text(response, collection + " " + URIUtil.decodePath(values.get("id")) + " "
                + URIUtil.decodePath(values.get("order")) + " " + (page == null ? "" : page), callback);
        }));
    }

    static void route(PathMappingsHandler routes, HttpMethod method, String path, Answer answer) {
        routes.addMapping(PathSpec.from(path), new Hello(method, answer));
    }

    public static void main(String[] args) throws Exception {
        var server = new Server(new QueuedThreadPool(Integer.parseInt(args[2])));
        var connector = new ServerConnector(server, 1, Integer.parseInt(args[3]), Transport.protocols());
        connector.setHost(args[0]);
        connector.setPort(Integer.parseInt(args[1]));
        connector.setAcceptQueueSize(4096);
        server.addConnector(connector);
        var routes = new PathMappingsHandler(false);  // a dynamic one counts as blocking
        route(routes, HttpMethod.GET, "", (request, response, callback) ->  // the path "/" and no other
            text(response, "Hello, World!", callback));
        route(routes, HttpMethod.GET, "/wait", Hello::pause);
        route(routes, HttpMethod.GET, "/json", (request, response, callback) ->
            json(response, Data.account(), callback));
        route(routes, HttpMethod.GET, "/page", (request, response, callback) ->
            send(response, "text/html; charset=utf-8", Page.render(Data.ROWS), callback));
        route(routes, HttpMethod.POST, "/echo", Hello::echo);
        route(routes, HttpMethod.POST, "/upload", (request, response, callback) ->
            new Upload(request, response, callback, new CRC32(), new long[1]).run());
        for (int n = 0; n < 100; n++) {
            order(n == 0 ? "users" : "resource" + n, routes);
        }
        server.setHandler(routes);
        server.start();
        server.join();
    }
}
