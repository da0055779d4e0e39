// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.view.Choreographer;
import android.view.View;
import android.view.ViewTreeObserver;

/**
 * Marks frames: from Choreographer's callback, with its refresh, to the end of that message, which is the end of
 * drawing. The next frame is asked for only by one that was drawn, so a screen that does not change costs
 * nothing; the first frame after a pause is not marked. A frame's stages are animation, with layout, and draw.
 *
 * <p>Context: the main thread.
 */
final class FrameWatch implements Choreographer.FrameCallback, ViewTreeObserver.OnPreDrawListener,
    MessageWatch.EndListener {
  private static final int STAGE_ANIMATION = 2;
  private static final int STAGE_DRAW = 4;

  private final MessageWatch messages;
  private final long loop;
  private boolean isAskedFor;
  private boolean isInFrame;
  private long frames;

  FrameWatch(MessageWatch messages, long loop) {
    this.messages = messages;
    this.loop = loop;
    messages.setEndListener(this);
  }

  /** Marks the frames of this window from now on. */
  void observe(View decorView) {
    ViewTreeObserver observer = decorView.getViewTreeObserver();
    observer.removeOnPreDrawListener(this);
    observer.addOnPreDrawListener(this);
  }

  /** Frames since the start. */
  long frames() {
    return frames;
  }

  @Override
  public boolean onPreDraw() {
    if (isInFrame) NativeLibrary.frameStage(loop, STAGE_DRAW);
    if (!isAskedFor) {
      isAskedFor = true;
      Choreographer.getInstance().postFrameCallback(this);
    }
    return true;
  }

  @Override
  public void doFrame(long frameTimeNanos) {
    isAskedFor = false;
    if (isInFrame || !messages.isInMessage()) return;
    isInFrame = true;
    ++frames;
    NativeLibrary.frameBegin(loop, frameTimeNanos);
    NativeLibrary.frameStage(loop, STAGE_ANIMATION);
  }

  @Override
  public void onMessageEnd() {
    if (!isInFrame) return;
    isInFrame = false;
    NativeLibrary.frameEnd(loop);
  }
}
