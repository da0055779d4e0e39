// SPDX-License-Identifier: Apache-2.0
// Measures calls of a method, in bursts that stay within a probe's budget, when its input says so.
import java.io.BufferedReader;
import java.io.InputStreamReader;

public final class ProbeCosts {
  private static final int BURST = 50_000;
  private static final int BURSTS = 30;

  static long seed = 7;

  static long work(long number) {
    return number * 31 + seed;
  }

  private static long burst() {
    long sum = 0;
    for (int i = 0; i < BURST; ++i) {
      sum += work(sum ^ i);
    }
    return sum;
  }

  /** Nanoseconds a call, of the best burst. */
  private static double measure() throws InterruptedException {
    double best = Double.MAX_VALUE;
    for (int i = 0; i < BURSTS; ++i) {
      long begin = System.nanoTime();
      seed += burst() & 1;
      best = Math.min(best, (System.nanoTime() - begin) / (double) BURST);
      Thread.sleep(110);  // a budget's window
    }
    return best;
  }

  public static void main(String[] arguments) throws Exception {
    for (int i = 0; i < 400; ++i) {
      seed += burst() & 1;
    }
    System.out.println("ready");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(measure());
    }
  }
}
