// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.channels.Selector;
import java.nio.file.*;
import java.util.concurrent.locks.*;
import java.util.regex.*;

public class SlowFile {
  static String load() throws IOException {
    return Files.readString(Path.of(System.getenv("FIFO"))); // FREEZE load
  }

  static void handle() throws Exception {
    load();
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
