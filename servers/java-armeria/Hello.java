import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.server.Server;
import io.netty.channel.ChannelOption;
import java.io.File;
import java.net.InetSocketAddress;

public class Hello {
    public static void main(String[] args) {
        var address = new InetSocketAddress(args[0], Integer.parseInt(args[1]));
        var server = Server.builder();
        if (System.getenv("CERT") == null) {
            server.port(address, SessionProtocol.HTTP);
        } else {
            server.port(address, SessionProtocol.HTTPS)
                .tls(new File(System.getenv("CERT")), new File(System.getenv("KEY")));
        }
        server.workerGroup(Integer.parseInt(args[2]))
            .channelOption(ChannelOption.SO_BACKLOG, 4096)
            .service("/", (context, request) ->
                HttpResponse.of(HttpStatus.OK, MediaType.PLAIN_TEXT_UTF_8, "Hello, World!"))
            .build()
            .start()
            .join();
    }
}
