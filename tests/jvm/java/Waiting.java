// SPDX-License-Identifier: Apache-2.0
// A thread "waiter" that waits as the argument says: for a safepoint that the thread "counter" holds up, for the
// class that the thread "initializer" initializes, or for compilers (with
// -Xbatch); or a virtual thread that spins,
// and keeps a lock or a monitor.
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

public final class Waiting {
  static volatile int sink;
  static volatile boolean isReady;
  static final ReentrantLock lock = new ReentrantLock();

  static final class Slow {
    static int value = load();

    static int load() {
      isReady = true;
      pause(60_000);
      return 1;
    }
  }

  // Compiled, it has no safepoint inside of its loop.
  static int count(int end) {
    int sum = 0;
    for (int i = 0; i < end; i++) sum = sum * 31 + i; // counts
    return sum;
  }

  static int wait(int turns) {
    long last = System.nanoTime();
    int value = 0;
    for (int i = 0; i < turns; i++) value += last == System.nanoTime() ? 1 : 2; // reads the clock
    return value;
  }

  static void startVirtual(Runnable work) throws ReflectiveOperationException {
    Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
  }

  static void spinVirtually() {
    isReady = true;
    while (true) sink++;
  }

  static void pause(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "safepoint", "loops" -> {
        for (int i = 0; i < 2000; i++) sink = count(20_000);
        start(
            "counter",
            () -> {
              while (true) sink = count(Integer.MAX_VALUE);
            });
        start(
            "waiter",
            () -> {
              while (true) sink++;
            });
        if (arguments[0].equals("safepoint"))
          start(
              "asker",
              () -> {
                while (true) System.gc();
              });
      }
      // Apart: the other ones' safepoints would hold it up.
      case "clock" ->
          start(
              "reader",
              () -> {
                while (true) sink = wait(1000);
              });
      case "class" -> {
        start("initializer", () -> sink = Slow.value);
        while (!isReady) pause(1);
        start("waiter", () -> sink = Slow.value);
      }
      case "has-virtual" -> {
        startVirtual(() -> sink++);
        return;
      }
      case "virtual" -> startVirtual(Waiting::spinVirtually);
      case "virtual-lock" -> {
        startVirtual(
            () -> {
              lock.lock();
              spinVirtually();
            });
        while (!isReady) pause(1);
        start("waiter", lock::lock);
      }
      case "virtual-monitor" -> {
        startVirtual(
            () -> {
              synchronized (lock) {
                spinVirtually();
              }
            });
        while (!isReady) pause(1);
        start(
            "waiter",
            () -> {
              synchronized (lock) {
                sink++;
              }
            });
      }
      default ->
          start(
              "waiter",
              () -> {
                while (true)
                  sink = IntStream.range(0, 100).mapToObj(i -> String.format("%5d", i)).toList().hashCode();
              });
    }
    pause(60_000);
  }
}
