// SPDX-License-Identifier: Apache-2.0
package android.os;

import java.util.ArrayList;

/** Waits in the native Looper of AOSP's libutils, as Android's does. */
public final class MessageQueue {
  public interface IdleHandler {
    boolean queueIdle();
  }

  public interface OnFdEventListener {
    void onFdEvents(int fd);
  }

  static {
    System.loadLibrary("android_stand_ins");
  }

  private final long looper = nativeInit();
  private final ArrayList<Message> messages = new ArrayList<>(); // by time; guarded by this
  private ArrayList<IdleHandler> mIdleHandlers = new ArrayList<>(); // the app's code finds it by this name
  private OnFdEventListener fdListener;
  private boolean isQuitting;

  private static native long nativeInit();

  private native void nativePollOnce(long looper, int timeoutMs);

  private static native void nativeWake(long looper);

  private static native void nativeAddFd(long looper, int fd);

  public void addIdleHandler(IdleHandler handler) {
    synchronized (this) {
      mIdleHandlers.add(handler);
    }
  }

  public void removeIdleHandler(IdleHandler handler) {
    synchronized (this) {
      mIdleHandlers.remove(handler);
    }
  }

  /** For one descriptor and one listener. */
  public void addOnFdEventListener(int fd, OnFdEventListener listener) {
    fdListener = listener;
    nativeAddFd(looper, fd);
  }

  // By the native Looper, within nativePollOnce().
  private void dispatchEvents(int fd) {
    fdListener.onFdEvents(fd);
  }

  /** No message behind it runs. */
  public void postSyncBarrier() {
    enqueue(Message.obtain(), SystemClock.uptimeMillis());
  }

  public void removeSyncBarrier() {
    synchronized (this) {
      messages.removeIf(message -> message.target == null);
    }
    nativeWake(looper);
  }

  boolean enqueue(Message message, long when) {
    synchronized (this) {
      if (isQuitting) return false;
      message.when = when;
      int at = messages.size();
      while (at > 0 && messages.get(at - 1).when > when) --at;
      messages.add(at, message);
    }
    nativeWake(looper);
    return true;
  }

  void quit() {
    synchronized (this) {
      isQuitting = true;
    }
    nativeWake(looper);
  }

  Message next() {
    boolean hasIdled = false;
    int timeoutMs = 0;
    for (;;) {
      nativePollOnce(looper, timeoutMs);
      IdleHandler[] handlers;
      synchronized (this) {
        if (isQuitting) return null;
        long now = SystemClock.uptimeMillis();
        Message first = messages.isEmpty() ? null : messages.get(0);
        boolean isBlocked = first == null || first.target == null;
        if (!isBlocked && first.when <= now) return messages.remove(0);
        timeoutMs = isBlocked ? -1 : (int) Math.min(first.when - now, Integer.MAX_VALUE);
        if (hasIdled) continue;
        handlers = mIdleHandlers.toArray(new IdleHandler[0]);
      }
      hasIdled = true;
      for (IdleHandler handler : handlers) {
        if (handler.queueIdle()) continue;
        synchronized (this) {
          mIdleHandlers.remove(handler);
        }
      }
      if (handlers.length != 0) timeoutMs = 0; // a handler may have posted a message
    }
  }
}
