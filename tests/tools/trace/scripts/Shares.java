// SPDX-License-Identifier: Apache-2.0

/** Two methods that share the processor 1 to 3. Prints heavy's share of the time. */
class Shares {
  static long total;

  static void light() {
    for (int i = 0; i < 1_000_000; i++) total += (long) i * i % 7;
  }

  static void heavy() {
    for (int i = 0; i < 3_000_000; i++) total += (long) i * i % 7;
  }

  public static void main(String[] arguments) {
    double seconds = Double.parseDouble(arguments[0]);
    double lightS = 0;
    double heavyS = 0;
    while (lightS + heavyS < seconds) {
      long begin = System.nanoTime();
      light();
      long middle = System.nanoTime();
      heavy();
      lightS += (middle - begin) / 1e9;
      heavyS += (System.nanoTime() - middle) / 1e9;
    }
    System.out.println(heavyS / (lightS + heavyS));
  }
}
