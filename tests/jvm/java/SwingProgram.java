// SPDX-License-Identifier: Apache-2.0
// A window whose event handler hangs as its argument says.
import java.awt.BorderLayout;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.SwingUtilities;

public final class SwingProgram {
  private static final Object monitor = new Object();
  private static final Object second = new Object();
  private static final java.util.concurrent.locks.ReentrantLock lock =
      new java.util.concurrent.locks.ReentrantLock();
  private static final java.util.concurrent.CountDownLatch hasFirst =
      new java.util.concurrent.CountDownLatch(2);
  static volatile long sink;

  static void importOrders(String kind) throws Exception {
    switch (kind) {
      case "spin" -> spinFor(1200);
      case "counted" -> countTo(900_000_000);
      case "sleep" -> Thread.sleep(1200);
      case "monitor" -> {
        synchronized (monitor) {
          sink++;
        }
      }
      case "gc" -> {
        java.util.List<Object> live = new java.util.LinkedList<>();
        for (int i = 0; i < 4_000_000; i++) live.add(new int[2]);
        for (int i = 0; i < 4; i++) System.gc();
        sink += live.size();
      }
      case "deadlock" -> {
        synchronized (monitor) {
          awaitBoth();
          synchronized (second) {
            sink++;
          }
        }
      }
      case "lock" -> {
        lock.lock();
        lock.unlock();
      }
      default -> throw new IllegalArgumentException(kind);
    }
  }

  static void spinFor(long ms) {
    long end = System.nanoTime() + ms * 1_000_000;
    while (System.nanoTime() < end) {
      sink += parsePrice(sink);
    }
  }

  // Compiled, it has no safepoint inside of its loop.
  static void countTo(int end) {
    int sum = 0;
    for (int i = 0; i < end; i++) {
      sum = sum * 31 + i;
    }
    sink += sum;
  }

  static long parsePrice(long seed) {
    long value = seed;
    for (int i = 0; i < 1000; i++) {
      value = value * 6364136223846793005L + i;
    }
    return value;
  }

  static void holdMonitor() {
    synchronized (monitor) {
      pause(1400);
    }
  }

  // Until each of the two threads has its first monitor.
  static void awaitBoth() {
    hasFirst.countDown();
    try {
      hasFirst.await();
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  static void takeBoth() {
    synchronized (second) {
      awaitBoth();
      synchronized (monitor) {
        sink++;
      }
    }
  }

  static void holdLock() {
    lock.lock();
    try {
      pause(1800);
    } finally {
      lock.unlock();
    }
  }

  static void pause(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    String kind = arguments[0];
    for (int i = 0; i < 200; i++) {
      countTo(20_000);
    }
    SwingUtilities.invokeAndWait(
        () -> {
          JFrame frame = new JFrame("orders");
          frame.add(new JButton("import"), BorderLayout.CENTER);
          frame.setSize(300, 200);
          frame.setVisible(true);
        });
    pause(200);
    if (arguments.length > 1) {  // "after-input": a line of input lets it go on
      System.in.read();
    }
    if (kind.equals("busy")) {
      long end = System.nanoTime() + 2_000_000_000L;
      Runnable[] next = new Runnable[1];
      next[0] =
          () -> {
            spinFor(2);
            if (System.nanoTime() < end) SwingUtilities.invokeLater(next[0]);
          };
      SwingUtilities.invokeAndWait(next[0]);
      pause(2200);
    } else if (kind.equals("deadlock")) {
      SwingUtilities.invokeLater(
          () -> {
            try {
              importOrders(kind);
            } catch (Exception error) {
              throw new IllegalStateException(error);
            }
          });
      new Thread(SwingProgram::takeBoth, "other").start();
      hasFirst.await();
      pause(2000);
    } else {
      if (kind.equals("monitor")) new Thread(SwingProgram::holdMonitor, "holder").start();
      if (kind.equals("lock")) new Thread(SwingProgram::holdLock, "holder").start();
      pause(200);
      SwingUtilities.invokeAndWait(
          () -> {
            try {
              importOrders(kind);
            } catch (Exception error) {
              throw new IllegalStateException(error);
            }
          });
    }
    pause(100);
    System.exit(0);
  }
}
