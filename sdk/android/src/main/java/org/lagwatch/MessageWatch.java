// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.Looper;
import android.os.MessageQueue;
import android.os.SystemClock;
import android.util.Printer;
import java.lang.reflect.Field;

/**
 * Marks each message of a Looper as a dispatch, by the two lines that Looper prints for it. A printer of the app
 * stays in force: its lines are passed on. If the app sets another one later, this one takes its place and
 * passes lines on to it; that is checked when the loop is idle, at most once in a check period.
 *
 * <p>Context: the loop's thread, unless noted otherwise.
 */
final class MessageWatch implements Printer, MessageQueue.IdleHandler {
  /** Two SDKs that replace each other's printers would not end otherwise. */
  private static final int MOST_INSTALLS = 16;

  /** Gets a message's end. */
  interface EndListener {
    void onMessageEnd();
  }

  private final Looper looper;
  private final long loop;
  private final long checkPeriodMs;
  private final Field printerField; // null: it cannot be read, and another printer is never replaced
  private Printer host;             // may be null
  private EndListener endListener;  // may be null
  private volatile boolean isStopped;
  private boolean isPrinting;
  private boolean isInMessage;
  private int installs;
  private long begins;
  private long beginsAtLastIdle = -1;
  private long lastCheckMs;

  MessageWatch(Looper looper, long loop, long checkPeriodMs) {
    this.looper = looper;
    this.loop = loop;
    this.checkPeriodMs = checkPeriodMs;
    printerField = findPrinterField();
  }

  private static Field findPrinterField() {
    try {
      Field field = Looper.class.getDeclaredField("mLogging");
      field.setAccessible(true);
      return field;
    } catch (Throwable failed) {
      Failures.count(failed);
      return null;
    }
  }

  void install() {
    try {
      Printer found = printerField == null ? null : (Printer) printerField.get(looper);
      if (found == this) return;
      host = found;
      looper.setMessageLogging(this);
      ++installs;
      lastCheckMs = SystemClock.uptimeMillis();
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** Context: any thread. */
  void stop() {
    isStopped = true;
    try {
      if (printerField != null && printerField.get(looper) == this) looper.setMessageLogging(host);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  void setEndListener(EndListener listener) {
    endListener = listener;
  }

  /** True within a message whose begin was seen. */
  boolean isInMessage() {
    return isInMessage;
  }

  @Override
  public void println(String line) {
    if (isPrinting) return; // the app's printer calls this one
    boolean isBegin = line != null && !line.isEmpty() && line.charAt(0) == '>';
    if (isBegin) begin(line);
    if (host != null) {
      isPrinting = true;
      try {
        host.println(line);
      } finally {
        isPrinting = false;
      }
    }
    if (!isBegin) end();
  }

  private void begin(String line) {
    ++begins;
    if (isStopped) return;
    end(); // a message that has thrown, or that runs a loop: its messages are dispatches of their own
    isInMessage = true;
    NativeLibrary.dispatchBegin(loop, line);
  }

  private void end() {
    if (!isInMessage) return;
    isInMessage = false;
    EndListener listener = endListener;
    if (listener != null) listener.onMessageEnd();
    NativeLibrary.dispatchEnd(loop);
  }

  /** A loop runs a message, at least, from one idle time to the next. */
  @Override
  public boolean queueIdle() {
    if (isStopped) return false;
    boolean isMissed = begins == beginsAtLastIdle;
    beginsAtLastIdle = begins;
    if (isMissed && printerField != null && installs < MOST_INSTALLS
        && SystemClock.uptimeMillis() - lastCheckMs >= checkPeriodMs) {
      install();
      beginsAtLastIdle = -1;
    }
    return true;
  }
}
