// SPDX-License-Identifier: Apache-2.0
// A web server on Netty, one of whose handlers sorts for too long on the event loop.
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
import java.nio.charset.StandardCharsets;
import java.text.Collator;
import java.util.*;

public class OrdersNetty {
  static final List<String> cities = new ArrayList<>();

  static List<String> byCity() {
    List<String> sorted = new ArrayList<>(cities);
    Collator collator = Collator.getInstance(Locale.GERMAN);
    sorted.sort(collator); // FREEZE byCity
    return sorted;
  }

  static class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
      List<String> answer = request.uri().equals("/freeze") ? byCity() : cities;
      FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK,
          Unpooled.copiedBuffer(answer.subList(0, 10).toString(), StandardCharsets.UTF_8));
      context.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (int id = 0; id < 300000; id++) cities.add(String.valueOf(id * 7919 % 300000));
    EventLoopGroup group = new NioEventLoopGroup(1);
    new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
        .childHandler(new ChannelInitializer<SocketChannel>() {
          @Override
          protected void initChannel(SocketChannel channel) {
            channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65536), new Handler());
          }
        }).bind("127.0.0.1", Integer.parseInt(arguments[0])).sync();
  }
}
