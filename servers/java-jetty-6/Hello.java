import java.io.IOException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.mortbay.jetty.Server;
import org.mortbay.jetty.nio.SelectChannelConnector;
import org.mortbay.jetty.servlet.Context;
import org.mortbay.jetty.servlet.ServletHolder;
import org.mortbay.thread.QueuedThreadPool;

public class Hello extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
        if (!request.getRequestURI().equals("/")) {
            response.sendError(HttpServletResponse.SC_NOT_FOUND);
            return;
        }
        response.setContentType("text/plain");
        response.getWriter().print("Hello, World!");
    }

    public static void main(String[] args) throws Exception {
        var connector = new SelectChannelConnector();
        connector.setHost(args[0]);
        connector.setPort(Integer.parseInt(args[1]));
        connector.setAcceptQueueSize(Integer.parseInt(args[3]));
        var server = new Server();
        // The connector keeps one thread of the pool to accept and select.
        server.setThreadPool(new QueuedThreadPool(Integer.parseInt(args[2]) + 1));
        server.addConnector(connector);
        server.setSendDateHeader(System.getenv("DATE") != null);
        new Context(server, "/").addServlet(new ServletHolder(new Hello()), "/");
        server.start();
        server.join();
    }
}
