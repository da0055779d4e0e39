// SPDX-License-Identifier: Apache-2.0
package android.view;

public final class MotionEvent extends InputEvent {
  public static final int ACTION_DOWN = 0;
  public static final int ACTION_UP = 1;
  public static final int ACTION_CANCEL = 3;

  private final int action;

  public MotionEvent(int action) {
    this.action = action;
  }

  public int getAction() {
    return action;
  }
}
