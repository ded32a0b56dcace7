import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Date;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import javax.net.ssl.SSLException;

public class Hello extends SimpleChannelInboundHandler<HttpObject> {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NOTHING = new byte[0];
    private static final boolean DATE = System.getenv("DATE") != null;
    private static final Set<String> COLLECTIONS = IntStream.range(0, 100)
        .mapToObj(n -> n == 0 ? "users" : "resource" + n).collect(Collectors.toUnmodifiableSet());

    private HttpRequest request;  // the one that is read or answered
    private ByteArrayOutputStream body;  // of an echo
    private CRC32 checksum;  // of an upload
    private long length;
    private boolean waiting;
    private final Queue<HttpObject> later = new ArrayDeque<>();  // what came while one waits

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject part) throws Exception {
        if (waiting) {
            later.add(ReferenceCountUtil.retain(part));
            return;
        }
        if (part instanceof HttpRequest head) {
            var post = head.method().equals(HttpMethod.POST);
            request = head;
            body = post && head.uri().equals("/echo") ? new ByteArrayOutputStream() : null;
            checksum = post && head.uri().equals("/upload") ? new CRC32() : null;
            length = 0;
        }
        if (part instanceof HttpContent piece) {
            var bytes = piece.content();
            if (checksum != null) {
                length += bytes.readableBytes();
                checksum.update(bytes.nioBuffer());
            } else if (body != null) {
                bytes.readBytes(body, bytes.readableBytes());
            }
        }
        if (part.decoderResult().isFailure()) {
            fail(context, HttpResponseStatus.BAD_REQUEST);
        } else if (part instanceof LastHttpContent) {
            answer(context);
        }
    }

    private void answer(ChannelHandlerContext context) throws Exception {
        if (body != null) {
            echo(context);
        } else if (checksum != null) {
            text(context, "%d %08x".formatted(length, checksum.getValue()));
        } else if (!request.method().equals(HttpMethod.GET)) {
            fail(context, HttpResponseStatus.NOT_FOUND);
        } else {
            switch (request.uri()) {
                case "/" -> send(context, HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN, HELLO);
                case "/wait" -> pause(context);
                case "/json" -> json(context, Data.account());
                case "/page" -> send(context, HttpResponseStatus.OK, "text/html; charset=utf-8",
                    Page.render(Data.ROWS).getBytes(StandardCharsets.UTF_8));
                default -> order(context);
            }
        }
    }

    /** Reads no more of the connection until the timer has fired, so that answers keep their order. */
    private void pause(ChannelHandlerContext context) {
        waiting = true;
        context.channel().config().setAutoRead(false);
        context.executor().schedule(() -> resume(context), 10, TimeUnit.MILLISECONDS);
    }

    private void resume(ChannelHandlerContext context) {
        waiting = false;
        text(context, "waited");
        while (!waiting && !later.isEmpty()) {
            try {
                channelRead(context, later.remove());
            } catch (Exception error) {
                exceptionCaught(context, error);
            }
        }
        context.flush();
        context.channel().config().setAutoRead(!waiting);
    }

    private void echo(ChannelHandlerContext context) throws Exception {
        Data.Message message = null;
        try {
            message = MAPPER.readValue(body.toByteArray(), Data.Message.class);
        } catch (JsonProcessingException error) {
            // answered like null, which is JSON but no message
        }
        if (message == null) {
            fail(context, HttpResponseStatus.BAD_REQUEST);
        } else {
            json(context, message.read());
        }
    }

    private void order(ChannelHandlerContext context) {
        var uri = new QueryStringDecoder(request.uri());
        var path = uri.path().split("/", -1);  // decoded
        if (path.length != 5 || !COLLECTIONS.contains(path[1]) || !path[3].equals("orders")) {
            fail(context, HttpResponseStatus.NOT_FOUND);
            return;
        }
        var page = uri.parameters().getOrDefault("page", List.of("")).get(0);
        text(context, path[1] + " " + path[2] + " " + path[4] + " " + page);
    }

    private void text(ChannelHandlerContext context, String text) {
        send(context, HttpResponseStatus.OK, HttpHeaderValues.TEXT_PLAIN,
            text.getBytes(StandardCharsets.UTF_8));
    }

    private void json(ChannelHandlerContext context, Object value) throws JsonProcessingException {
        send(context, HttpResponseStatus.OK, HttpHeaderValues.APPLICATION_JSON,
            MAPPER.writeValueAsBytes(value));
    }

    private void fail(ChannelHandlerContext context, HttpResponseStatus status) {
        send(context, status, HttpHeaderValues.TEXT_PLAIN, NOTHING);
    }

    private void send(
            ChannelHandlerContext context, HttpResponseStatus status, CharSequence type, byte[] bytes) {
        var response = new DefaultFullHttpResponse(
            request.protocolVersion(), status, Unpooled.wrappedBuffer(bytes));
        response.headers()
            .set(HttpHeaderNames.CONTENT_TYPE, type)
            .setInt(HttpHeaderNames.CONTENT_LENGTH, bytes.length);
        if (DATE) {
            response.headers().set(HttpHeaderNames.DATE, DateFormatter.format(new Date()));
        }
        context.write(response);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }

    private static ChannelInitializer<Channel> initializer(Consumer<ChannelPipeline> protocol) {
        return new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                protocol.accept(channel.pipeline());
            }
        };
    }

    private static void http1(ChannelPipeline pipeline) {
        pipeline.addLast(new HttpServerCodec(), new HttpServerKeepAliveHandler(), new Hello());
    }

    private static void http2(ChannelPipeline pipeline) {
        pipeline.addLast(
            Http2FrameCodecBuilder.forServer().build(),
            new Http2MultiplexHandler(initializer(
                stream -> stream.addLast(new Http2StreamFrameToHttpObjectCodec(true), new Hello()))));
    }

    /** TLS with the first of the protocols that the client knows. */
    private static Consumer<ChannelPipeline> tls(String cert, String key, String... protocols)
            throws SSLException {
        var tls = SslContextBuilder.forServer(new File(cert), new File(key))
            .applicationProtocolConfig(new ApplicationProtocolConfig(
                ApplicationProtocolConfig.Protocol.ALPN,
                ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                protocols))
            .build();
        return pipeline -> pipeline.addLast(
            tls.newHandler(pipeline.channel().alloc()),
            new ApplicationProtocolNegotiationHandler(ApplicationProtocolNames.HTTP_1_1) {
                @Override
                protected void configurePipeline(ChannelHandlerContext context, String protocol) {
                    if (protocol.equals(ApplicationProtocolNames.HTTP_2)) {
                        http2(context.pipeline());
                    } else {
                        http1(context.pipeline());
                    }
                }
            });
    }

    private static Consumer<ChannelPipeline> protocol() throws SSLException {
        var cert = System.getenv("CERT");
        var http2 = System.getenv("HTTP2") != null;
        if (cert == null) {
            return http2 ? Hello::http2 : Hello::http1;
        }
        return http2
            ? tls(cert, System.getenv("KEY"), ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1)
            : tls(cert, System.getenv("KEY"), ApplicationProtocolNames.HTTP_1_1);
    }

    public static void main(String[] args) throws Exception {
        var loops = new MultiThreadIoEventLoopGroup(
            Integer.parseInt(args[2]), NioIoHandler.newFactory());
        new ServerBootstrap()
            .group(loops)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, 4096)
            .childHandler(initializer(protocol()))
            .bind(args[0], Integer.parseInt(args[1]))
            .sync().channel().closeFuture().sync();
    }
}
