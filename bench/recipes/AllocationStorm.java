// SPDX-License-Identifier: Apache-2.0
// VERDICT gc
// OPTIONS -XX:+UseSerialGC -Xmx220m -Xmn20m
import java.io.*;
import java.nio.channels.Selector;

public class AllocationStorm {
  static final int[][] orders = new int[5_000_000][];

  static void handle() throws Exception {
    for (int i = 0; i < 20_000_000; i++) orders[i % orders.length] = new int[2]; // FREEZE handle
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
