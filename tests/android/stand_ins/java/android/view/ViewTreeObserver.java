// SPDX-License-Identifier: Apache-2.0
package android.view;

import java.util.ArrayList;

public final class ViewTreeObserver {
  public interface OnPreDrawListener {
    boolean onPreDraw();
  }

  public interface OnWindowFocusChangeListener {
    void onWindowFocusChanged(boolean hasFocus);
  }

  private final ArrayList<OnPreDrawListener> drawListeners = new ArrayList<>();
  private final ArrayList<OnWindowFocusChangeListener> focusListeners = new ArrayList<>();

  public void addOnPreDrawListener(OnPreDrawListener listener) {
    drawListeners.add(listener);
  }

  public void removeOnPreDrawListener(OnPreDrawListener listener) {
    drawListeners.remove(listener);
  }

  public void addOnWindowFocusChangeListener(OnWindowFocusChangeListener listener) {
    focusListeners.add(listener);
  }

  public boolean dispatchOnPreDraw() {
    for (OnPreDrawListener listener : drawListeners) listener.onPreDraw();
    return false;
  }

  public void dispatchWindowFocusChange(boolean hasFocus) {
    for (OnWindowFocusChangeListener listener : focusListeners) listener.onWindowFocusChanged(hasFocus);
  }
}
