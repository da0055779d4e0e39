// SPDX-License-Identifier: Apache-2.0
// Stops at places that it prints before: the frames that the JVM itself sees there, one a line, innermost first,
// then an empty line. A line of input lets it go on. Methods are interpreted, compiled and inlined by then.
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

public final class Stops {
  static int stopsLeft;
  static boolean isWarm;

  static int stop(int value) {
    if (!isWarm) return value;
    StringBuilder text = new StringBuilder();
    StackTraceElement[] frames = Thread.currentThread().getStackTrace();
    for (int i = 2; i < frames.length; i++) {  // without getStackTrace and this method
      text.append(frames[i].getClassName()).append('.').append(frames[i].getMethodName());
      text.append(':').append(Math.max(frames[i].getLineNumber(), 0)).append('\n');
    }
    System.out.println(text);
    System.out.flush();
    try {
      while (System.in.read() != '\n') {}
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
    return value + 1;
  }

  interface Shape {
    int apply(int depth);
  }

  static final class Recursive implements Shape {
    public int apply(int depth) {
      if (depth <= 0) {
        return stop(depth);
      }
      int result = apply(depth - 1);
      return result + 1;
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
      java.util.Arrays.sort(
          values,
          (left, right) -> {
            stop(left);
            return left - right;
          });
      return values[0];
    }
  }

  static final class Reflected implements Shape {
    public static int called(int depth) {
      return stop(depth);
    }

    public int apply(int depth) {
      try {
        return (int) Reflected.class.getMethod("called", int.class).invoke(null, depth);
      } catch (ReflectiveOperationException error) {
        throw new IllegalStateException(error);
      }
    }
  }

  static final class Locked implements Shape {
    public synchronized int apply(int depth) {
      synchronized (Stops.class) {
        try {
          return stop(depth);
        } finally {
          stopsLeft--;
        }
      }
    }
  }

  static final List<Shape> shapes =
      List.of(
          new Recursive(),
          new Inlined(),
          new Lambdas(),
          new Streams(),
          new Sorted(),
          new Reflected(),
          new Locked());

  static int mix(int index, int depth) {
    Shape shape = shapes.get(index % shapes.size());
    return shape.apply(depth);
  }

  static void run(int stops, int warmUps) {
    for (int i = 0; i < warmUps; i++) mix(i, i % 8);
    isWarm = true;
    for (int i = 0; i < stops; i++) {
      mix(i, 3 + i % 20);
    }
  }

  public static void main(String[] arguments) throws Exception {
    int stops = Integer.parseInt(arguments[0]);
    int warmUps = Integer.parseInt(arguments[1]);
    Thread thread = new Thread(() -> run(stops, warmUps), "stopper");
    thread.start();
    thread.join();
  }
}
