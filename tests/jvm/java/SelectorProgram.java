// SPDX-License-Identifier: Apache-2.0
// A selector's loop, whose handler hangs at the request 'x': it sleeps; with "native" called by native code, and with
// "safepoint" it is stopped for a collection that another thread holds up. With "shared", two threads take turns at the
// selector: the one that got an event leaves it to the other. With "after-input" behind it, a line of input begins it.
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.Semaphore;

public final class SelectorProgram {
  private static Selector selector;
  private static Pipe pipe;
  private static final Semaphore turn = new Semaphore(1);

  private static String kind;
  private static volatile int sum;

  static void handleRequest(byte request) throws Exception {
    if (request != 'x') return;
    switch (kind) {
      case "native" -> visit(SelectorProgram::pause);
      case "safepoint" -> waitForOthers();
      default -> Thread.sleep(1200);
    }
  }

  static native void visit(Runnable each);

  static void pause() {
    try {
      Thread.sleep(1200);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  // Compiled, it has no safepoint inside of its loop.
  static int checksum(int end) {
    int value = 0;
    for (int i = 0; i < end; i++) value = value * 31 + i; // checksum
    return value;
  }

  static void start(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  static void waitForOthers() throws Exception {
    start(() -> sum = checksum(2_000_000_000), "checker");
    Thread.sleep(20);
    start(System::gc, "collector");
    long end = System.nanoTime() + 100_000_000;
    while (System.nanoTime() < end) sum++;
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
    kind = arguments[0];
    if (kind.equals("native")) System.load(arguments[1]);
    for (int i = 0; i < 2000; i++) sum = checksum(20_000);
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
    if (arguments.length > 1 && arguments[1].equals("after-input")) System.in.read();
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
