package hello;

import io.netty.channel.ChannelOption;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

@SpringBootApplication
@RestController
public class Hello {
    @GetMapping(path = "/", produces = MediaType.TEXT_PLAIN_VALUE)
    public Mono<String> hello() {
        return Mono.just("Hello, World!");
    }

    @Bean
    public NettyServerCustomizer backlog() {
        return server -> server.option(ChannelOption.SO_BACKLOG, 4096);
    }

    public static void main(String[] args) {
        SpringApplication.run(Hello.class, args);
    }
}
