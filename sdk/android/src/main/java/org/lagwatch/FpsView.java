// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.Activity;
import android.content.Context;
import android.graphics.Color;
import android.view.Gravity;
import android.view.ViewGroup;
import android.widget.FrameLayout;
import android.widget.TextView;

/** Shows the frames per second above a screen, for debuggable builds. */
final class FpsView extends TextView implements Runnable {
  private static final int PERIOD_MS = 1000;

  private final FrameWatch frames;
  private long shownFrames;

  private FpsView(Context context, FrameWatch frames) {
    super(context);
    this.frames = frames;
    shownFrames = frames.frames();
    setTextColor(Color.WHITE);
    setBackgroundColor(Color.DKGRAY);
    setText("- fps");
  }

  static void show(Activity activity, FrameWatch frames) {
    ViewGroup decorView = (ViewGroup) activity.getWindow().getDecorView();
    for (int i = 0; i < decorView.getChildCount(); ++i) {
      if (decorView.getChildAt(i) instanceof FpsView) return;
    }
    FpsView view = new FpsView(activity, frames);
    int wrap = FrameLayout.LayoutParams.WRAP_CONTENT;
    decorView.addView(view, new FrameLayout.LayoutParams(wrap, wrap, Gravity.TOP | Gravity.END));
    view.postDelayed(view, PERIOD_MS);
  }

  @Override
  public void run() {
    if (getParent() == null) return;
    long now = frames.frames();
    if (now != shownFrames) setText(now - shownFrames + " fps"); // a text that does not change draws no frame
    shownFrames = now;
    postDelayed(this, PERIOD_MS);
  }
}
