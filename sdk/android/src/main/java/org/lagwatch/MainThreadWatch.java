// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.Application;
import android.os.Looper;

/** Creates the watches of the main thread, and gives them to each other. */
final class MainThreadWatch {
  private static MainThreadWatch current; // guarded by the class
  private static long loop;               // the main thread's, for good; 0: not watched yet

  private final MessageWatch messages;
  private final IdleWatch idle;
  private final QueueWatch queue;
  private final ScreenWatch screens;
  private final Application application;

  /** Context: the main thread. */
  static synchronized void start(Application application, LagWatchOptions options, boolean isDebuggable) {
    if (current != null) return;
    try {
      current = new MainThreadWatch(application, options, isDebuggable);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** Context: any thread. */
  static synchronized void stop() {
    if (current == null) return;
    current.messages.stop();
    current.idle.stop();
    current.queue.stop();
    current.application.unregisterActivityLifecycleCallbacks(current.screens);
    BinderWatch.stop();
    current = null;
  }

  private MainThreadWatch(Application application, LagWatchOptions options, boolean isDebuggable) {
    this.application = application;
    JavaStacks.register(Thread.currentThread(), NativeLibrary.threadId());
    JavaStacks.warmUp();
    if (loop == 0) loop = NativeLibrary.watchLoop("main");
    messages = new MessageWatch(Looper.myLooper(), loop, options.number("android_printer_check_ms", 60_000));
    messages.install();
    Looper.myQueue().addIdleHandler(messages);
    idle = new IdleWatch(Looper.myQueue(), loop);
    if (options.isOn("android_idle_handlers", true)) idle.install();
    FrameWatch frames = new FrameWatch(messages, loop);
    boolean hasOverlay = isDebuggable && options.isOn("android_fps_overlay", false);
    PriorityWatch priority = new PriorityWatch();
    queue = new QueueWatch(Looper.myLooper(), loop, options.number("android_queue_ping_ms", 1000), priority);
    screens = new ScreenWatch(loop, frames, queue, hasOverlay, Startup.isForScreen());
    application.registerActivityLifecycleCallbacks(screens);
    BinderWatch.start(loop, options.number("android_binder_deadline_ms", 500));
  }
}
