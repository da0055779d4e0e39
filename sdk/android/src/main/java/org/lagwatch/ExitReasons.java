// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.ActivityManager;
import android.app.ApplicationExitInfo;
import android.content.Context;
import android.os.Build;
import java.util.List;

/** The system's record of the last process's end. */
final class ExitReasons {
  private static final String[] NAMES = {
    "unknown", "exit", "signal", "low memory", "crash", "native crash", "anr", "initialization failure",
    "permission change", "excessive resource usage", "user requested", "user stopped", "dependency died",
    "other", "freezer", "package state change", "package updated",
  };

  private ExitReasons() {}

  /** The fact {@code app.android_exit}: the reason, and the signal or exit code. Needs Android 11. */
  static void addLastOne(Context context) {
    if (Build.VERSION.SDK_INT < Build.VERSION_CODES.R) return;
    try {
      ActivityManager manager = (ActivityManager) context.getSystemService(Context.ACTIVITY_SERVICE);
      List<ApplicationExitInfo> exits = manager.getHistoricalProcessExitReasons(context.getPackageName(), 0, 1);
      if (exits.isEmpty()) return;
      ApplicationExitInfo exit = exits.get(0);
      NativeLibrary.setValue("android_exit", nameOf(exit.getReason()) + " " + exit.getStatus());
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  static String nameOf(int reason) {
    return reason >= 0 && reason < NAMES.length ? NAMES[reason] : "reason " + reason;
  }
}
