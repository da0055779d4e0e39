// SPDX-License-Identifier: Apache-2.0
package org.lagwatch.host;

import android.app.Activity;
import android.view.MotionEvent;

final class MainScreen extends Activity {
  @Override
  public boolean dispatchTouchEvent(MotionEvent event) {
    Freezes.sleepHere(600);
    return true;
  }
}
