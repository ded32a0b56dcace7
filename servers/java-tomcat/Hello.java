import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.startup.Tomcat;

public class Hello extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        response.setContentType("text/plain");
        response.getWriter().print("Hello, World!");
    }

    public static void main(String[] args) throws Exception {
        var tomcat = new Tomcat();
        tomcat.setBaseDir(args[0]);
        tomcat.setPort(Integer.parseInt(args[2]));
        var connector = tomcat.getConnector();
        connector.setProperty("address", args[1]);
        connector.setProperty("maxThreads", args[3]);
        connector.setProperty("maxKeepAliveRequests", args[4]);
        connector.setProperty("acceptCount", "4096");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "hello", new Hello());
        context.addServletMappingDecoded("", "hello");  // the path "/" and no other
        tomcat.start();
        tomcat.getServer().await();
    }
}
