// SPDX-License-Identifier: Apache-2.0
package android.view;

import android.content.Context;
import android.os.Handler;
import android.os.Looper;

public class View {
  private final ViewTreeObserver observer = new ViewTreeObserver();
  ViewGroup parent;

  public View(Context context) {}

  public ViewTreeObserver getViewTreeObserver() {
    return observer;
  }

  public ViewGroup getParent() {
    return parent;
  }

  public boolean postDelayed(Runnable action, long delayMs) {
    return new Handler(Looper.getMainLooper()).postDelayed(action, delayMs);
  }

  public void setBackgroundColor(int color) {}
}
