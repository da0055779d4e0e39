// SPDX-License-Identifier: Apache-2.0
package android.widget;

import android.content.Context;
import android.view.View;

public class TextView extends View {
  private String text = "";

  public TextView(Context context) {
    super(context);
  }

  public void setText(CharSequence text) {
    this.text = text.toString();
  }

  public CharSequence getText() {
    return text;
  }

  public void setTextColor(int color) {}
}
