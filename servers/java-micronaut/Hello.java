package hello;

import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.Micronaut;

@Controller
public class Hello {
    @Get(produces = MediaType.TEXT_PLAIN)
    public String hello() {
        return "Hello, World!";
    }

    public static void main(String[] args) {
        Micronaut.run(Hello.class, args);
    }
}
