// SPDX-License-Identifier: Apache-2.0
package android.view;

import android.os.SystemClock;

public abstract class InputEvent {
  private final long timeMs = SystemClock.uptimeMillis();

  public final long getEventTime() {
    return timeMs;
  }
}
