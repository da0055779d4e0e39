// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.Process;

/**
 * Notices changes of the main thread's priority, which a worker's setThreadPriority() on the wrong thread makes:
 * the fact {@code app.main_priority}, such as "10, was -10".
 */
final class PriorityWatch {
  private final int tid;
  private final int first;
  private int last;

  /** Context: the thread itself. */
  PriorityWatch() {
    tid = NativeLibrary.threadId();
    first = Process.getThreadPriority(tid);
    last = first;
  }

  void check() {
    try {
      int now = Process.getThreadPriority(tid);
      if (now == last) return;
      last = now;
      NativeLibrary.setValue("main_priority", now == first ? null : now + ", was " + first);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }
}
