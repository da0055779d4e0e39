// SPDX-License-Identifier: Apache-2.0
package android.app;

import java.util.Collections;
import java.util.List;

public class ActivityManager {
  public static class RunningAppProcessInfo {
    public static final int IMPORTANCE_FOREGROUND = 100;
    public static final int IMPORTANCE_SERVICE = 300;

    public int importance;
  }

  public static void getMyMemoryState(RunningAppProcessInfo info) {
    info.importance = Boolean.getBoolean("android.background")
        ? RunningAppProcessInfo.IMPORTANCE_SERVICE
        : RunningAppProcessInfo.IMPORTANCE_FOREGROUND;
  }

  public List<ApplicationExitInfo> getHistoricalProcessExitReasons(String name, int pid, int most) {
    return Collections.singletonList(new ApplicationExitInfo(6, 0)); // an ANR
  }
}
