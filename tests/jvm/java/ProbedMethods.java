// SPDX-License-Identifier: Apache-2.0
// Does what its input says, a known number of times: methods to be probed.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

public final class ProbedMethods {
  @Retention(RetentionPolicy.RUNTIME)
  @interface Watched {}

  interface Shape {
    double area(double scale);

    default String label(int number) {
      return "shape " + number;
    }
  }

  static final class Square implements Shape {
    private final double side;

    Square(double side) {
      this.side = side;
    }

    @Override
    public double area(double scale) {
      return side * side * scale;
    }
  }

  static class Circle implements Shape {
    @Override
    public double area(double scale) {
      return 3 * scale;
    }

    @Watched
    float tint(float base) {
      return base / 2;
    }
  }

  static final class Checked {
    final int number;

    Checked(int number) {
      this.number = 10 / number;
    }
  }

  enum Size { SMALL, LARGE }

  static final class Basket {
    private final int most;

    Basket(int most) { this.most = most; }

    Basket put(String item, Integer pieces, Size size, Object other, double price) {
      item = "changed";
      pieces = most;
      if (size == null) {
        throw new IllegalArgumentException(item + pieces);
      }
      price = 0;
      return size == Size.SMALL ? this : null;
    }
  }

  static long slow(int milliseconds) throws InterruptedException {
    Thread.sleep(milliseconds);
    return milliseconds;
  }

  static long add(long left, int right) {
    return left + right;
  }

  static int deep(int depth) {
    return depth == 0 ? 0 : deep(depth - 1) + 1;
  }

  static synchronized int fail(int number) {
    if (number % 2 == 0) {
      throw new IllegalStateException("even");
    }
    return number;
  }

  static String greet(String name) {
    return name == null ? null : "hello " + name;
  }

  // Its bytecode has nearly the 8,000 bytes above which a JVM compiles no method: each `finally` has the inner ones twice.
  static int large(int number) {
    int sum = number;
    try { sum += 1; } finally { try { sum += 2; } finally { try { sum += 3; } finally { try { sum += 4; } finally {
    try { sum += 5; } finally { try { sum += 6; } finally { try { sum = 1; } finally { try { sum = 2; } finally {
    try { sum += 9; } finally { sum += 10; } } } } } } } } }
    return sum;
  }

  static int small(int number) {
    return number + 1;
  }

  static native String bytecode(String name);

  // Of all threads in turn, to have compiled code, too.
  private static void run(String kind, int count) throws InterruptedException {
    Shape[] shapes = {new Square(2), new Circle()};
    Runnable hidden = () -> small(count);
    for (int i = 0; i < count; ++i) {
      switch (kind) {
        case "slow" -> slow(200 * (i % 2));
        case "add" -> add(i, 1);
        case "deep" -> deep(9);
        case "greet" -> greet(i % 2 == 0 ? "number " + i : null);
        case "shapes" -> System.out.println(shapes[i % 2].area(0.5) + ((Circle) shapes[1]).tint(1.5f) + shapes[0].label(i));
        case "large" -> large(i);
        case "hidden" -> hidden.run();
        case "places" -> ProbedPlaces.run(i);
        case "baskets" -> fill(new Basket(9), i);
        default -> tryIt(kind, i);
      }
    }
  }

  private static void fill(Basket basket, int number) {
    System.out.println("basket " + basket.getClass().getName() + " " + Integer.toHexString(System.identityHashCode(basket)));
    try {
      basket.put("item " + number, 40 + number, number == 2 ? null : Size.values()[number % 2], number == 0 ? basket : 2.5, 1.25);
      }
      catch (IllegalArgumentException exception) {
        // as it should be
      }
    }

  private static void tryIt(String kind, int number) {
    try {
      if (kind.equals("fail")) fail(number);
      if (kind.equals("check")) new Checked(number % 2);
    } catch (IllegalStateException | ArithmeticException exception) {
      // as it should be
    }
  }

  private static void threads(int count) throws InterruptedException {
    Thread[] threads = new Thread[4];
    for (int i = 0; i < threads.length; ++i) {
      threads[i] = new Thread(() -> {
        for (int k = 0; k < count; ++k) add(k, 1);
      });
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
  }

  /** Calls a method in a thread whose id is above a number: a thread has its id before it starts. */
  private static void late(int id) throws InterruptedException {
    Thread thread = new Thread();
    while (thread.getId() <= id)
      thread = new Thread(() -> {
        for (int i = 0; i < 20; ++i) add(i, 1);
      });
    thread.start();
    thread.join();
  }

  public static void main(String[] arguments) throws Exception {
    System.load(arguments[0]);
    System.out.println("ready");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      switch (words[0]) {
        case "bytecode" -> System.out.println(bytecode(words[1]) + ProbedPlaces.bytecode(words[1]));
        case "threads" -> threads(Integer.parseInt(words[1]));
        case "contend" -> ProbedPlaces.contend();
        case "overflow" -> ProbedPlaces.overflow(Integer.parseInt(words[1]));
        case "late" -> late(Integer.parseInt(words[1]));
        case "forbid" -> System.out.println("forbidden " + forbid());
        case "exit" -> System.exit(Integer.parseInt(words[1]));
        default -> run(words[0], Integer.parseInt(words[1]));
      }
      System.out.println("done");
    }
  }

  static native int forbid();
}
