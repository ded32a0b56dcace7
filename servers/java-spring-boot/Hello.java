package hello;

import static org.springframework.http.MediaType.TEXT_PLAIN;
import static org.springframework.http.MediaType.TEXT_PLAIN_VALUE;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.zip.CRC32;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.ModelAndView;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.RouterFunctions;
import org.springframework.web.servlet.function.ServerResponse;

@SpringBootApplication
@RestController
public class Hello {
    @GetMapping(path = "/", produces = TEXT_PLAIN_VALUE)
    public String hello() {
        return "Hello, World!";
    }

    @GetMapping(path = "/wait", produces = TEXT_PLAIN_VALUE)
    public String pause() throws InterruptedException {
        Thread.sleep(10);
        return "waited";
    }

    @GetMapping("/json")
    public Data.Account json() {
        return Data.account();
    }

    @PostMapping("/echo")
    public Data.Message echo(@RequestBody Data.Message message) {
        return message.read();
    }

    @GetMapping("/page")
    public ModelAndView page() {
        return new ModelAndView("page", Map.of("rows", Data.ROWS));
    }

    @PostMapping(path = "/upload", produces = TEXT_PLAIN_VALUE)
    public String upload(InputStream body) throws IOException {
        var checksum = new CRC32();
        var piece = new byte[65536];
        long length = 0;
        for (int size; (size = body.read(piece)) >= 0; length += size) {
            checksum.update(piece, 0, size);
        }
        return "%d %08x".formatted(length, checksum.getValue());
    }

    @Bean
    public RouterFunction<ServerResponse> orders() {
        var routes = RouterFunctions.route();
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            routes.GET("/" + collection + "/{id}/orders/{order}", request ->
                ServerResponse.ok().contentType(TEXT_PLAIN).body(
                    collection + " " + request.pathVariable("id") + " "
                    + request.pathVariable("order") + " " + request.param("page").orElse("")));
        }
        return routes.build();
    }

    public static void main(String[] args) {
        SpringApplication.run(Hello.class, args);
    }
}
