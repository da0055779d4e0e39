// SPDX-License-Identifier: Apache-2.0
// VERDICT class-loading
import java.io.*;
import java.nio.channels.Selector;

public class ClassHeld {
  static class Prices {
    static final int BASE = load();

    static int load() {
      try {
        Thread.sleep(1300); // KEEPS load
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return 1;
    }
  }

  static int first;

  static void handle() throws Exception {
    new Thread(() -> first = Prices.BASE).start();
    Thread.sleep(100);
    first = Prices.BASE; // FREEZE handle
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
