// SPDX-License-Identifier: Apache-2.0
// A thread that never rests: compiled and interpreted code, allocation, copies, exceptions and new classes.
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntSupplier;

public final class Churn {
  static volatile long sink;

  static int count(int[] values) {
    int sum = 0;
    for (int value : values) sum = sum * 31 + value;
    return sum;
  }

  static int copy(int[] values) {
    int[] copied = Arrays.copyOf(values, values.length);
    Arrays.sort(copied);
    return copied[0];
  }

  static int allocate(int size) {
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < size; i++) texts.add("order " + i);
    return String.join(",", texts).hashCode();
  }

  static int fail(int depth) {
    if (depth == 0) throw new IllegalArgumentException("none");
    return fail(depth - 1) + 1;
  }

  static int time() {
    return (int) (System.nanoTime() ^ System.currentTimeMillis());
  }

  static int call(IntSupplier supplier) {
    return supplier.getAsInt() + (int) Math.sin(sink);
  }

  static void work(int round) {
    int[] values = new int[1000];
    for (int i = 0; i < values.length; i++) values[i] = i * round % 97;
    sink += call(() -> count(values));
    sink += call(() -> copy(values));
    sink += call(() -> allocate(50));
    sink += call(() -> time());
    try {
      sink += fail(round % 20);
    } catch (IllegalArgumentException error) {
      sink++;
    }
    if (round % 50 == 0) {
      Object made =
          java.lang.reflect.Proxy.newProxyInstance(
              Churn.class.getClassLoader(),
              new Class<?>[] {IntSupplier.class},
              (proxy, method, arguments) -> 1);
      sink += ((IntSupplier) made).getAsInt();
    }
  }

  static void spin() {
    for (int round = 0; ; round++) work(round);
  }

  public static void main(String[] arguments) {
    new Thread(Churn::spin, "spinner").start();
  }
}
