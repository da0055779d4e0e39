// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.ActivityManager;
import android.os.Build;
import android.os.Process;
import android.os.SystemClock;

/** The process's start. */
final class Startup {
  private Startup() {}

  /** The fact {@code app.init_ms}: from the process's start to LagWatch.init(). */
  static void addFacts() {
    if (Build.VERSION.SDK_INT < Build.VERSION_CODES.N) return;
    long initMs = SystemClock.uptimeMillis() - Process.getStartUptimeMillis();
    NativeLibrary.setValue("init_ms", Long.toString(initMs));
  }

  /** False if the process was started for a service or a broadcast: then no user waits for its first screen. */
  static boolean isForScreen() {
    try {
      ActivityManager.RunningAppProcessInfo info = new ActivityManager.RunningAppProcessInfo();
      ActivityManager.getMyMemoryState(info);
      return info.importance == ActivityManager.RunningAppProcessInfo.IMPORTANCE_FOREGROUND;
    } catch (Throwable failed) {
      Failures.count(failed);
      return true;
    }
  }
}
