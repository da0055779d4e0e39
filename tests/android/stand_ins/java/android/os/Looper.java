// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.util.Printer;

public final class Looper {
  private static final ThreadLocal<Looper> own = new ThreadLocal<>();
  private static volatile Looper mainLooper;

  final MessageQueue queue = new MessageQueue();
  private final Thread thread = Thread.currentThread();
  private Printer mLogging; // the app's code finds it by this name

  public static void prepareMainLooper() {
    Process.getStartUptimeMillis(); // the process begins
    own.set(new Looper());
    mainLooper = own.get();
  }

  public static Looper getMainLooper() {
    return mainLooper;
  }

  public static Looper myLooper() {
    return own.get();
  }

  public static MessageQueue myQueue() {
    return own.get().queue;
  }

  public Thread getThread() {
    return thread;
  }

  public void setMessageLogging(Printer printer) {
    mLogging = printer;
  }

  public void quit() {
    queue.quit();
  }

  public static void loop() {
    Looper looper = own.get();
    for (;;) {
      Message message = looper.queue.next();
      if (message == null) return;
      Printer printer = looper.mLogging;
      if (printer != null)
        printer.println(">>>>> Dispatching to " + message.target + " " + message.callback + ": " + message.what);
      message.target.dispatch(message);
      if (printer != null) printer.println("<<<<< Finished to " + message.target + " " + message.callback);
    }
  }
}
