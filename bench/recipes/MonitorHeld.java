// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.channels.Selector;
import java.nio.file.*;
import java.util.concurrent.locks.*;
import java.util.regex.*;

public class MonitorHeld {
  static final Object index = new Object();

  static void rebuild() throws InterruptedException {
    synchronized (index) {
      Thread.sleep(1200); // KEEPS rebuild
    }
  }

  static void look() {
    synchronized (index) { // FREEZE look
      index.hashCode();
    }
  }

  static void handle() throws Exception {
    new Thread(() -> {
      try {
        rebuild();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }).start();
    Thread.sleep(100);
    look();
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
