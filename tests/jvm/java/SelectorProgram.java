// SPDX-License-Identifier: Apache-2.0
// A selector's loop, whose handler sleeps at the request 'x'. With "shared", two threads take turns at the selector:
// the one that got an event leaves it to the other.
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.Semaphore;

public final class SelectorProgram {
  private static Selector selector;
  private static Pipe pipe;
  private static final Semaphore turn = new Semaphore(1);

  static void handleRequest(byte request) throws Exception {
    if (request == 'x') {
      Thread.sleep(1200);
    }
  }

  static void run() {
    try {
      ByteBuffer buffer = ByteBuffer.allocate(1);
      while (true) {
        turn.acquire();
        selector.select();
        selector.selectedKeys().clear();
        buffer.clear();
        pipe.source().read(buffer);
        turn.release();
        handleRequest(buffer.get(0));
      }
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  static void request(char request) throws Exception {
    pipe.sink().write(ByteBuffer.wrap(new byte[] {(byte) request}));
  }

  public static void main(String[] arguments) throws Exception {
    selector = Selector.open();
    pipe = Pipe.open();
    pipe.source().configureBlocking(false);
    pipe.source().register(selector, SelectionKey.OP_READ);
    int threads = arguments[0].equals("shared") ? 2 : 1;
    for (int i = 0; i < threads; i++) {
      Thread thread = new Thread(SelectorProgram::run, "request-loop");
      thread.setDaemon(true);
      thread.start();
    }
    request('a');
    if (arguments.length > 1) System.in.read();  // "after-input": a line of input lets it go on
    for (int i = 0; i < 12; i++) {
      Thread.sleep(20);
      request('a');
    }
    Thread.sleep(50);
    request('x');
    Thread.sleep(100);
    request('a');
    Thread.sleep(1600);
  }
}
