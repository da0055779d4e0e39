// SPDX-License-Identifier: Apache-2.0
// VERDICT gc
import java.io.*;
import java.nio.channels.Selector;
import java.util.LinkedList;

public class FullCollection {
  static final LinkedList<int[]> orders = new LinkedList<>();

  static void handle() throws Exception {
    for (int i = 0; i < 5_000_000; i++) orders.add(new int[2]);
    for (int i = 0; i < 6; i++) System.gc(); // FREEZE handle
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
