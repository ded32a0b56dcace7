package hello;

import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

@Path("/")
public class Hello {
    private static final DateTimeFormatter DATE =
        DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);

    void start(@Observes Router router) {
        if (System.getenv("DATE") != null) {
            router.route().order(-1).handler(Hello::date);
        }
    }

    private static void date(RoutingContext context) {
        context.response().putHeader("Date", DATE.format(ZonedDateTime.now(ZoneOffset.UTC)));
        context.next();
    }

    @GET
    @Produces(MediaType.TEXT_PLAIN)
    public String hello() {
        return "Hello, World!";
    }
}
