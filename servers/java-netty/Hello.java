import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import java.nio.charset.StandardCharsets;

public class Hello extends SimpleChannelInboundHandler<HttpObject> {
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NOTHING = new byte[0];

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject part) {
        if (!(part instanceof HttpRequest request)) {
            return;
        }
        var found = request.method().equals(HttpMethod.GET) && request.uri().equals("/");
        var body = found ? HELLO : NOTHING;
        var response = new DefaultFullHttpResponse(
            request.protocolVersion(),
            found ? HttpResponseStatus.OK : HttpResponseStatus.NOT_FOUND,
            Unpooled.wrappedBuffer(body));
        response.headers()
            .set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.TEXT_PLAIN)
            .setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
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

    public static void main(String[] args) throws Exception {
        var loops = new MultiThreadIoEventLoopGroup(
            Integer.parseInt(args[2]), NioIoHandler.newFactory());
        new ServerBootstrap()
            .group(loops)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, 4096)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override
                protected void initChannel(SocketChannel channel) {
                    channel.pipeline().addLast(
                        new HttpServerCodec(), new HttpServerKeepAliveHandler(), new Hello());
                }
            })
            .bind(args[0], Integer.parseInt(args[1]))
            .sync().channel().closeFuture().sync();
    }
}
