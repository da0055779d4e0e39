// SPDX-License-Identifier: Apache-2.0
package android.os;

public final class SystemClock {
  public static long uptimeMillis() {
    return System.nanoTime() / 1_000_000; // CLOCK_MONOTONIC in OpenJDK
  }
}
