// SPDX-License-Identifier: Apache-2.0
package android.os;

public class Handler {
  private final Looper looper;

  public Handler(Looper looper) {
    this.looper = looper;
  }

  public final boolean post(Runnable callback) {
    return postDelayed(callback, 0);
  }

  public final boolean postDelayed(Runnable callback, long delayMs) {
    Message message = Message.obtain();
    message.callback = callback;
    return sendMessageDelayed(message, delayMs);
  }

  public final boolean sendEmptyMessage(int what) {
    Message message = Message.obtain();
    message.what = what;
    return sendMessageDelayed(message, 0);
  }

  public final boolean sendMessageDelayed(Message message, long delayMs) {
    message.target = this;
    return looper.queue.enqueue(message, SystemClock.uptimeMillis() + delayMs);
  }

  public void handleMessage(Message message) {}

  final void dispatch(Message message) {
    if (message.callback != null) {
      message.callback.run();
    } else {
      handleMessage(message);
    }
  }

  @Override
  public String toString() {
    return "Handler (" + getClass().getName() + ") {" + Integer.toHexString(System.identityHashCode(this)) + "}";
  }
}
