import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.SessionProtocol;
import com.linecorp.armeria.server.Server;
import io.netty.channel.ChannelOption;
import java.net.InetSocketAddress;

public class Hello {
    public static void main(String[] args) {
        Server.builder()
            .port(new InetSocketAddress(args[0], Integer.parseInt(args[1])), SessionProtocol.HTTP)
            .workerGroup(Integer.parseInt(args[2]))
            .channelOption(ChannelOption.SO_BACKLOG, 4096)
            .service("/", (context, request) ->
                HttpResponse.of(HttpStatus.OK, MediaType.PLAIN_TEXT_UTF_8, "Hello, World!"))
            .build()
            .start()
            .join();
    }
}
