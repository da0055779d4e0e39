// SPDX-License-Identifier: Apache-2.0
package android.widget;

import android.view.ViewGroup;

public class FrameLayout {
  public static class LayoutParams extends ViewGroup.LayoutParams {
    public LayoutParams(int width, int height, int gravity) {}
  }
}
