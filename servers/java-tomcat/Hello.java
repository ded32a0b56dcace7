import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

public class Hello extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        response.setContentType("text/plain");
        response.getWriter().print("Hello, World!");
    }

    static void secure(Connector connector, String cert, String key) {
        var host = new SSLHostConfig();
        var certificate = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.UNDEFINED);
        certificate.setCertificateFile(cert);
        certificate.setCertificateKeyFile(key);
        host.addCertificate(certificate);
        connector.addSslHostConfig(host);
        connector.setProperty("SSLEnabled", "true");
        connector.setScheme("https");
        connector.setSecure(true);
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
        if (System.getenv("CERT") != null) {
            secure(connector, System.getenv("CERT"), System.getenv("KEY"));
        }
        if (System.getenv("HTTP2") != null) {
            connector.addUpgradeProtocol(new Http2Protocol());
        }
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "hello", new Hello());
        context.addServletMappingDecoded("", "hello");  // the path "/" and no other
        tomcat.start();
        tomcat.getServer().await();
    }
}
