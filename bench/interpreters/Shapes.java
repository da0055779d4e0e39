// SPDX-License-Identifier: Apache-2.0
// Stacks of many shapes, interpreted and compiled, on a thread "shapes". `stops COUNT SEED`: prints the frames that the
// JVM sees at each stop, in one line, and waits for a line. `churn`: changes its stack, its code and its classes as fast
// as it can.
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

public final class Shapes {
  static boolean isStopping;
  public static volatile long sink;

  static String text(Throwable here) {
    StringBuilder text = new StringBuilder();
    for (StackTraceElement frame : here.getStackTrace()) {
      text.append(text.isEmpty() ? "" : "|").append(frame.getClassName()).append('.').append(frame.getMethodName());
      String file = frame.getFileName() == null ? "" : frame.getFileName();
      text.append(" (").append(file).append("):").append(Math.max(frame.getLineNumber(), 0));
    }
    return text.toString();
  }

  static void await(String text) {
    System.out.println(text);
    System.out.flush();
    try {
      while (System.in.read() != '\n') {}
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  static int stop(int value) {
    if (isStopping) await(text(new Throwable()));
    return value + 1;
  }

  interface Shape {
    int apply(int depth);
  }

  static final class Recursive implements Shape {
    public int apply(int depth) {
      if (depth <= 0) return stop(depth);
      int result = apply(depth - 1);
      return result + 1;
    }
  }

  static final class Mutual implements Shape {
    public int apply(int depth) {
      return depth <= 0
          ? stop(depth)
          : other(
              depth - 1);
    }

    private int other(int depth) {
      int sum = 0;
      for (int i = 0; i < 1; i++) {
        sum +=
            apply(depth);
      }
      return sum;
    }
  }

  static final class Inlined implements Shape {
    private int first(int value) {
      return second(value) + 1;
    }

    private int second(int value) {
      int sum = value;
      sum += third(sum);
      return sum;
    }

    private int third(int value) {
      return value > 100 ? value : stop(value);
    }

    public int apply(int depth) {
      return first(depth);
    }
  }

  static final class Lambdas implements Shape {
    public int apply(int depth) {
      IntUnaryOperator inner = value -> stop(value);
      IntUnaryOperator outer = inner.andThen(value -> value + 1);
      return outer.applyAsInt(depth);
    }
  }

  static final class Streams implements Shape {
    public int apply(int depth) {
      return IntStream.range(0, 1)
          .map(value -> value + depth)
          .map(
              value -> {
                return stop(value);
              })
          .sum();
    }
  }

  static final class Sorted implements Shape {
    public int apply(int depth) {
      Integer[] values = {2, 1};
      Arrays.sort(
          values,
          (left, right) -> {
            stop(left);
            return left - right;
          });
      return values[0];
    }
  }

  static final class Thrown implements Shape {
    public int apply(int depth) {
      try {
        throw new IllegalStateException("shape " + depth);
      } catch (IllegalStateException error) {
        return stop(depth);
      } finally {
        sink++;
      }
    }
  }

  static final class Locked implements Shape {
    public synchronized int apply(int depth) {
      synchronized (Shapes.class) {
        return stop(depth);
      }
    }
  }

  static final class Initialized implements Shape {
    public int apply(int depth) {
      return new Object() {
        final int value = stop(depth);
      }.value;
    }
  }

  static final List<Shape> shapes =
      List.of(
          new Recursive(),
          new Mutual(),
          new Inlined(),
          new Lambdas(),
          new Streams(),
          new Sorted(),
          new Thrown(),
          new Locked(),
          new Initialized());

  static int nest(Random random, int depth, int levels) {
    Shape shape = shapes.get(random.nextInt(shapes.size()));
    if (levels == 0) return shape.apply(depth);
    return nest(random, depth, levels - 1) + 1;
  }

  // The first half of the stops is interpreted.
  static void stops(int count, long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < count; i++) {
      if (i == count / 2) {
        for (int warmUp = 0; warmUp < 300_000; warmUp++) sink += nest(random, warmUp % 8, warmUp % 4);
      }
      isStopping = true;
      sink += nest(random, 1 + i % 20, i % 6);
      isStopping = false;
    }
  }

  public static final class Job implements Runnable {
    public void run() {
      int[] values = IntStream.range(0, 500).map(i -> (i * 7919) % 503).toArray();
      Arrays.sort(values);
      sink += values[17];
    }
  }

  // Each has a class of its own, which a collection drops later.
  static Runnable load(byte[] job) throws ReflectiveOperationException {
    class Loader extends ClassLoader {
      Loader() {
        super(Shapes.class.getClassLoader());
      }

      Class<?> define() {
        return defineClass("Shapes$Job", job, 0, job.length);
      }
    }
    return (Runnable) new Loader().define().getDeclaredConstructor().newInstance();
  }

  static void churn() {
    Random random = new Random(1);
    try (InputStream file = Shapes.class.getResourceAsStream("Shapes$Job.class")) {
      byte[] job = file.readAllBytes();
      for (int round = 0; ; round++) {
        for (int i = 0; i < 50; i++) sink += nest(random, i % 16, i % 4);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < 20; i++) texts.add(String.format("order %5d", i));
        sink += String.join(",", texts).hashCode();
        Runnable loaded = load(job);
        for (int i = 0; i < 30; i++) loaded.run();
      }
    } catch (IOException | ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    boolean isChurn = arguments[0].equals("churn");
    Thread thread =
        isChurn
            ? new Thread(Shapes::churn, "shapes")
            : new Thread(() -> stops(Integer.parseInt(arguments[1]), Long.parseLong(arguments[2])), "shapes");
    thread.start();
    if (isChurn) {
      Thread.sleep(200);
      System.out.println("churns");
    }
    thread.join();
  }
}
