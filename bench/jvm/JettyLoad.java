// SPDX-License-Identifier: Apache-2.0
// Jetty under load: threads that keep their connections ask for a page that is made for each request. Prints
// the number of requests in a second, and in a second of processor time.
//
// Arguments: the seconds to warm up and those to measure.
import com.sun.management.OperatingSystemMXBean;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.AbstractHandler;

public final class JettyLoad {
  private static final int CLIENTS = 8;
  private static final LongAdder requests = new LongAdder();

  static final class Page extends AbstractHandler {
    @Override
    public void handle(
        String target, Request base, HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < 100; i++) {
        text.append("<tr><td>order ").append(i).append("</td><td>").append(i * 31 % 97).append("</td></tr>\n");
      }
      byte[] page = text.toString().getBytes(StandardCharsets.UTF_8);
      response.setContentType("text/html");
      response.setContentLength(page.length);
      response.getOutputStream().write(page);
      base.setHandled(true);
    }
  }

  static void ask(int port) {
    byte[] question = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    byte[] answer = new byte[64 << 10];
    try (Socket socket = new Socket("127.0.0.1", port)) {
      OutputStream output = socket.getOutputStream();
      DataInputStream input = new DataInputStream(socket.getInputStream());
      while (true) {
        output.write(question);
        int size = 0;
        int end = -1;
        while (end < 0 || size < end) {
          int read = input.read(answer, size, answer.length - size);
          if (read < 0) throw new IOException("closed");
          size += read;
          if (end < 0) end = endOf(new String(answer, 0, size, StandardCharsets.US_ASCII));
        }
        requests.increment();
      }
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  // The size of an answer, by its head; -1 while that is not complete.
  static int endOf(String text) {
    int head = text.indexOf("\r\n\r\n");
    if (head < 0) return -1;
    int length = text.indexOf("Content-Length: ");
    return head + 4 + Integer.parseInt(text.substring(length + 16, text.indexOf("\r\n", length)));
  }

  public static void main(String[] arguments) throws Exception {
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(new Page());
    server.start();
    for (int i = 0; i < CLIENTS; i++) {
      Thread client = new Thread(() -> ask(connector.getLocalPort()), "client");
      client.setDaemon(true);
      client.start();
    }
    Thread.sleep(1000 * Long.parseLong(arguments[0]));
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long before = requests.sum();
    long begin = System.nanoTime();
    long cpuBegin = system.getProcessCpuTime();
    Thread.sleep(1000 * Long.parseLong(arguments[1]));
    long made = requests.sum() - before;
    double cpu = system.getProcessCpuTime() - cpuBegin;
    System.out.println(made * 1e9 / (System.nanoTime() - begin) + " " + made * 1e9 / cpu);
    System.exit(0);
  }
}
