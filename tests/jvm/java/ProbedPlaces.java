// SPDX-License-Identifier: Apache-2.0
// Methods with places to be probed inside; their lines and what they do are known to probes_inside_test.cc.
import java.util.ArrayList;
import java.util.List;

final class ProbedPlaces {
  private static final Object LOCK = new StringBuilder("lock");
  static int sum;
  private long total;
  private double half;
  private final int[] parts;

  // Objects are made, and lines begin, where others are not initialized yet.
  ProbedPlaces(int number) {
    this(
        new int[] {number,
            new Part(number > 1 ? number : -number).number});
  }

  private ProbedPlaces(int[] parts) {
    this.parts = parts;
  }

  private static class Part {
    final int number;

    Part(int number) {
      this.number = number;
    }
  }

  static void run(int number) throws InterruptedException {
    new Part(number > 1 ? number : -number);
    ProbedPlaces places = new ProbedPlaces(number);
    places.fields(number);
    places.locks(number);
    calls(number);
    if (!lines(number).equals("x".repeat(number))) throw new IllegalStateException();
    try {
      refuse(number);
    } catch (IllegalArgumentException exception) {
      // as it should be
    }
  }

  // Two fields are set, one is a number; two are read.
  private void fields(int number) {
    total += number;
    half = total / 2.0;
    sum += 1;
  }

  // Three blocks, one within another, one left by `return` and one by an exception.
  private int locks(int number) throws InterruptedException {
    synchronized (LOCK) {
      do {
        synchronized (this) {
          Thread.sleep(2);
        }
      } while (number < 0);
    }
    try {
      synchronized (parts) {
        if (number % 2 == 0) return parts[number];
        sum += number;
      }
    } catch (ArrayIndexOutOfBoundsException exception) {
      sum -= 1;
    }
    return number;
  }

  // Deep down, without room for a probe's own calls: locks are given back nevertheless.
  static int deepLocks(Object lock, int depth) {
    synchronized (lock) {
      return deepLocks(lock, depth + 1) + 1;
    }
  }

  static void overflow(int count) throws InterruptedException {
    Object lock = new Object();
    for (int i = 0; i < count; ++i) {
      try {
        deepLocks(lock, 0);
      } catch (StackOverflowError error) {
        ++sum;
      }
    }
    Thread other = new Thread(() -> {
      synchronized (lock) {
        System.out.println("free");
      }
    });
    other.start();
    other.join();
  }

  // Waits for the lock while another thread has it.
  static void contend() throws InterruptedException {
    ProbedPlaces places = new ProbedPlaces(1);
    Thread waiting = new Thread(() -> {
      try {
        places.locks(1);
      } catch (InterruptedException exception) {
        throw new IllegalStateException(exception);
      }
    });
    synchronized (LOCK) {
      waiting.start();
      while (waiting.getState() != Thread.State.BLOCKED) Thread.sleep(1);
      Thread.sleep(30);
    }
    waiting.join();
  }

  static native String bytecode(String name);

  private static void calls(int number) throws InterruptedException {
    List<Integer> list = new ArrayList<>();
    list.add(number);
    list.add(list.get(0));
    Thread.sleep(number == 1 ? 30 : 0);
  }

  private static String lines(int number) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < number; ++i) {
      text.append('x');
    }
    return text.toString();
  }

  private static synchronized void refuse(int number) {
    if (number >= 0) throw new IllegalArgumentException("refused");
  }
}
