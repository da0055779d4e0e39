// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.channels.Selector;
import java.nio.file.*;
import java.util.concurrent.locks.*;
import java.util.regex.*;

public class SlowPattern {

  static void handle() throws Exception {
    Pattern.compile("^(.*?,){11}P").matcher("1,".repeat(26)).find(); // FREEZE handle
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
