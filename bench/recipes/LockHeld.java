// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.channels.Selector;
import java.nio.file.*;
import java.util.concurrent.locks.*;
import java.util.regex.*;

public class LockHeld {
  static final ReentrantLock index = new ReentrantLock();

  static void rebuild() {
    index.lock();
    long end = System.nanoTime() + 1_200_000_000L;
    while (System.nanoTime() < end) Thread.onSpinWait(); // KEEPS rebuild
    index.unlock();
  }

  static void handle() throws Exception {
    new Thread(LockHeld::rebuild).start();
    Thread.sleep(100);
    index.lock(); // FREEZE handle
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
