// SPDX-License-Identifier: Apache-2.0
package android.os;

public final class Process {
  private static final long START_UPTIME_MS = SystemClock.uptimeMillis();

  public static native int myPid();

  public static long getStartUptimeMillis() {
    return START_UPTIME_MS;
  }

  // Of the main thread alone, and of no effect.
  private static volatile int priority;

  public static int getThreadPriority(int tid) {
    return priority;
  }

  public static void setThreadPriority(int tid, int replacement) {
    priority = replacement;
  }
}
