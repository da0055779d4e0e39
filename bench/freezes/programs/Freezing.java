// SPDX-License-Identifier: Apache-2.0
// java Freezing.java FLAG: see freezing.c.
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

public class Freezing {
  static final Object lock = new Object();

  static void keepIt() throws Exception {
    Thread.sleep(1500);
  }

  static void freezeSleep() throws Exception {
    Thread.sleep(1500);
  }

  static void freezeCompute() {
    long end = System.nanoTime() + 1500000000L;
    while (System.nanoTime() < end) {}
  }

  static void freezeChild() throws Exception {
    new ProcessBuilder("sleep", "1.5").start().waitFor();
  }

  static void freezeLock() throws Exception {
    var isKept = new CountDownLatch(1);
    new Thread(() -> {
      synchronized (lock) {
        isKept.countDown();
        try {
          keepIt();
        } catch (Exception interrupted) {
        }
      }
    }, "keeper").start();
    isKept.await();
    synchronized (lock) {
    }
  }

  public static void main(String[] words) throws Exception {
    Path flag = Path.of(words[0]);
    var selector = Selector.open();
    while (true) {
      selector.select(50);
      if (!Files.exists(flag)) continue;
      switch (Files.readString(flag).trim()) {
        case "sleep" -> freezeSleep();
        case "child" -> freezeChild();
        case "lock" -> freezeLock();
        default -> freezeCompute();
      }
      Files.delete(flag);
    }
  }
}
