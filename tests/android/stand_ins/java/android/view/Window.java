// SPDX-License-Identifier: Apache-2.0
package android.view;

import android.content.Context;

public class Window {
  public interface Callback {
    boolean dispatchTouchEvent(MotionEvent event);

    boolean dispatchGenericEvent(InputEvent event);

    void onContentChanged();
  }

  private final ViewGroup decorView;
  private Callback callback;

  public Window(Context context) {
    decorView = new ViewGroup(context);
    callback = (Callback) context;
  }

  public View getDecorView() {
    return decorView;
  }

  public Callback getCallback() {
    return callback;
  }

  public void setCallback(Callback replacement) {
    callback = replacement;
  }
}
