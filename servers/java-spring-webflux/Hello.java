package hello;

import static org.springframework.http.MediaType.TEXT_PLAIN_VALUE;

import io.netty.channel.ChannelOption;
import java.time.Duration;
import java.time.Instant;
import java.util.zip.CRC32;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.result.method.RequestMappingInfo;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

@SpringBootApplication
@RestController
public class Hello {
    @GetMapping(path = "/", produces = TEXT_PLAIN_VALUE)
    public Mono<String> hello() {
        return Mono.just("Hello, World!");
    }

    @GetMapping(path = "/wait", produces = TEXT_PLAIN_VALUE)
    public Mono<String> pause() {
        return Mono.delay(Duration.ofMillis(10)).thenReturn("waited");
    }

    @GetMapping("/json")
    public Mono<Data.Account> json() {
        return Mono.fromSupplier(Data::account);
    }

    @PostMapping("/echo")
    public Mono<Data.Message> echo(@RequestBody Mono<Data.Message> message) {
        return message.map(Data.Message::read);
    }

    @PostMapping(path = "/upload", produces = TEXT_PLAIN_VALUE)
    public Mono<String> upload(ServerHttpRequest request) {
        return request.getBody().collect(Upload::new, Upload::add).map(Upload::sum);
    }

    static class Upload {
        private final CRC32 checksum = new CRC32();
        private long length;

        void add(DataBuffer piece) {
            length += piece.readableByteCount();
            try (var bytes = piece.readableByteBuffers()) {
                bytes.forEachRemaining(checksum::update);
            }
            DataBufferUtils.release(piece);
        }

        String sum() {
            return "%d %08x".formatted(length, checksum.getValue());
        }
    }

    @Controller
    public static class Pages {
        @GetMapping("/page")
        public String page(Model model) {
            model.addAttribute("rows", Data.ROWS);
            return "page";
        }
    }

    public record Orders(String collection) {
        @ResponseBody
        public Mono<String> order(
                @PathVariable("id") String id, @PathVariable("order") String order,
                @RequestParam(name = "page", defaultValue = "") String page) {
            return Mono.just(collection + " " + id + " " + order + " " + page);
        }
    }

    @Autowired
    public void orders(RequestMappingHandlerMapping routes) throws NoSuchMethodException {
        var method = Orders.class.getMethod("order", String.class, String.class, String.class);
        for (int n = 0; n < 100; n++) {
            var collection = n == 0 ? "users" : "resource" + n;
            var route = RequestMappingInfo.paths("/" + collection + "/{id}/orders/{order}")
                .methods(RequestMethod.GET).produces(TEXT_PLAIN_VALUE);
            routes.registerMapping(route.build(), new Orders(collection), method);
        }
    }

    @Bean
    @ConditionalOnProperty("date")
    public WebFilter date() {
        return (exchange, chain) -> {
            exchange.getResponse().getHeaders().setDate(Instant.now());
            return chain.filter(exchange);
        };
    }

    @Bean
    public NettyServerCustomizer backlog() {
        return server -> server.option(ChannelOption.SO_BACKLOG, 4096);
    }

    public static void main(String[] args) {
        SpringApplication.run(Hello.class, args);
    }
}
