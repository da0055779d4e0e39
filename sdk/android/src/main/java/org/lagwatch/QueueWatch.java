// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.Handler;
import android.os.Looper;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Measures how long messages wait in the queue: posts an empty message each period while the app is in the
 * foreground, one at a time. Messages that keep the loop busy, one after the other, make it wait; so does a
 * barrier that was left in the queue.
 *
 * <p>Thread safety: start, stop and their callers may be on any thread.
 */
final class QueueWatch implements Runnable {
  private final Handler handler;
  private final long loop;
  private final int periodMs; // 0: off
  private final PriorityWatch priority;
  private final AtomicBoolean isQueued = new AtomicBoolean();
  private ScheduledExecutorService executor; // null while stopped
  private ScheduledFuture<?> schedule;

  QueueWatch(Looper looper, long loop, int periodMs, PriorityWatch priority) {
    handler = new Handler(looper);
    this.loop = loop;
    this.periodMs = periodMs;
    this.priority = priority;
  }

  synchronized void setForeground(boolean isForeground) {
    if (periodMs <= 0) return;
    if (!isForeground) {
      if (schedule != null) schedule.cancel(false);
      schedule = null;
      return;
    }
    if (schedule != null) return;
    if (executor == null) {
      executor = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "lagwatch-ping");
        thread.setDaemon(true);
        return thread;
      });
    }
    schedule = executor.scheduleWithFixedDelay(this::ping, periodMs, periodMs, TimeUnit.MILLISECONDS);
  }

  synchronized void stop() {
    if (executor != null) executor.shutdown();
    executor = null;
    schedule = null;
  }

  private void ping() {
    try {
      if (!isQueued.compareAndSet(false, true)) return;
      NativeLibrary.noteQueued(loop);
      if (!handler.post(this)) run();
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** The message itself. */
  @Override
  public void run() {
    NativeLibrary.noteRun(loop);
    isQueued.set(false);
    priority.check();
  }
}
