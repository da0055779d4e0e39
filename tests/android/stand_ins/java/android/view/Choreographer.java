// SPDX-License-Identifier: Apache-2.0
package android.view;

import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.SystemClock;
import java.util.ArrayList;

/** Of the main thread. Each frame is a message at the next multiple of 16 ms: callbacks, then the traversal. */
public final class Choreographer {
  public interface FrameCallback {
    void doFrame(long frameTimeNanos);
  }

  private static final int PERIOD_MS = 16;
  private static final Choreographer instance = new Choreographer();

  private final Handler handler = new FrameHandler(Looper.getMainLooper());
  private ArrayList<FrameCallback> callbacks = new ArrayList<>();
  private Runnable traversal; // null: none
  private boolean isScheduled;

  private final class FrameHandler extends Handler {
    FrameHandler(Looper looper) {
      super(looper);
    }

    @Override
    public void handleMessage(Message message) {
      isScheduled = false;
      ArrayList<FrameCallback> due = callbacks;
      callbacks = new ArrayList<>();
      long vsyncMs = SystemClock.uptimeMillis() / PERIOD_MS * PERIOD_MS;
      for (FrameCallback callback : due) callback.doFrame(vsyncMs * 1_000_000);
      Runnable drawing = traversal;
      traversal = null;
      if (drawing != null) drawing.run();
    }
  }

  public static Choreographer getInstance() {
    return instance;
  }

  public void postFrameCallback(FrameCallback callback) {
    callbacks.add(callback);
    schedule();
  }

  /** Draws in the next frame. */
  public void postTraversal(Runnable drawing) {
    traversal = drawing;
    schedule();
  }

  private void schedule() {
    if (isScheduled) return;
    isScheduled = true;
    handler.sendMessageDelayed(Message.obtain(), PERIOD_MS - SystemClock.uptimeMillis() % PERIOD_MS);
  }
}
