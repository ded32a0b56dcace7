package hello;

import static org.springframework.http.MediaType.TEXT_PLAIN_VALUE;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.zip.CRC32;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.ModelAndView;
import org.springframework.web.servlet.mvc.method.RequestMappingInfo;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

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

    public record Orders(String collection) {
        @ResponseBody
        public String order(
                @PathVariable("id") String id, @PathVariable("order") String order,
                @RequestParam(name = "page", defaultValue = "") String page) {
            return collection + " " + id + " " + order + " " + page;
        }
    }

    @Autowired
    public void orders(
            @Qualifier("requestMappingHandlerMapping") RequestMappingHandlerMapping routes)
            throws NoSuchMethodException {
        var method = Orders.class.getMethod("order", String.class, String.class, String.class);
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            var route = RequestMappingInfo.paths("/" + collection + "/{id}/orders/{order}")
                .methods(RequestMethod.GET).produces(TEXT_PLAIN_VALUE)
                .options(routes.getBuilderConfiguration());
            routes.registerMapping(route.build(), new Orders(collection), method);
        }
    }

    public static void main(String[] args) {
        SpringApplication.run(Hello.class, args);
    }
}
