import java.io.IOException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.ServerFactory;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Embedded;

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
        var connector = new Connector("org.apache.coyote.http11." + args[3]);
        connector.setProperty("address", args[0]);
        connector.setPort(Integer.parseInt(args[1]));
        connector.setProperty("maxThreads", args[2]);
        connector.setProperty("backlog", args[4]);
        connector.setProperty("maxKeepAliveRequests", "-1");

        var tomcat = new Embedded();
        var home = tomcat.getCatalinaHome();
        var context = tomcat.createContext("", home);
        context.setLoader(tomcat.createLoader(Hello.class.getClassLoader()));
        var servlet = context.createWrapper();
        servlet.setName("hello");
        servlet.setServletClass(Hello.class.getName());
        context.addChild(servlet);
        context.addServletMapping("/", "hello");

        var host = tomcat.createHost("localhost", home);
        host.addChild(context);
        var engine = tomcat.createEngine();
        engine.setName("hello");
        engine.setDefaultHost("localhost");
        engine.addChild(host);
        tomcat.addEngine(engine);
        tomcat.addConnector(connector);
        // The mapper looks for the service by the name of its engine.
        tomcat.setName(engine.getName());
        ServerFactory.getServer().addService(tomcat);
        tomcat.start();
        // Tomcat's own threads are daemons.
        Thread.currentThread().join();
    }
}
