// SPDX-License-Identifier: Apache-2.0
// VERDICT deadlock
import java.io.*;
import java.nio.channels.Selector;

public class ClassDeadlock {
  static class Prices {
    static final int BASE = load();

    static int load() {
      pause();
      return Orders.COUNT + 1; // FREEZE load
    }
  }

  static class Orders {
    static final int COUNT = count();

    static int count() {
      pause();
      return Prices.BASE + 1; // ALSO count
    }
  }

  static int sum;

  static void pause() {
    try {
      Thread.sleep(200);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static void handle() throws Exception {
    Thread other = new Thread(() -> sum += Orders.COUNT);
    other.setDaemon(true);
    other.start();
    sum += Prices.BASE;
  }

  public static void main(String[] arguments) throws Exception {
    Selector selector = Selector.open();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = ""; !line.equals("freeze");) {
      selector.select(10);
      if (System.in.available() == 0 && !input.ready()) continue;
      line = input.readLine();
      if (line.equals("freeze")) handle();
    }
    selector.select(100);
  }
}
