// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.channels.Selector;
import java.nio.file.*;
import java.util.concurrent.locks.*;
import java.util.regex.*;

public class CountedLoop {
  static int[] values = new int[1 << 20];

  static void handle() throws Exception {
    for (int turn = 0; turn < 2000; turn++) add(turn);
  }

  static void add(int turn) {
    for (int i = 0; i < values.length; i++) values[i] += turn ^ i; // FREEZE add
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
