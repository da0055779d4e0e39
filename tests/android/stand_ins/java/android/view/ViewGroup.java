// SPDX-License-Identifier: Apache-2.0
package android.view;

import android.content.Context;
import java.util.ArrayList;

public class ViewGroup extends View {
  public static class LayoutParams {
    public static final int WRAP_CONTENT = -2;
  }

  private final ArrayList<View> children = new ArrayList<>();

  public ViewGroup(Context context) {
    super(context);
  }

  public int getChildCount() {
    return children.size();
  }

  public View getChildAt(int index) {
    return children.get(index);
  }

  public void addView(View child, LayoutParams params) {
    children.add(child);
    child.parent = this;
  }
}
