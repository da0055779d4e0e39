// SPDX-License-Identifier: Apache-2.0
package org.lagwatch.sample;

import android.app.Activity;
import android.os.Bundle;
import android.os.SystemClock;
import android.widget.Button;
import android.widget.LinearLayout;

/** Buttons that freeze the main thread, each in another way. */
public final class MainActivity extends Activity {
  private final Object lock = new Object();

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    LinearLayout layout = new LinearLayout(this);
    layout.setOrientation(LinearLayout.VERTICAL);
    addButton(layout, "Sleep", () -> SystemClock.sleep(3000));
    addButton(layout, "Count", this::count);
    addButton(layout, "Wait for a lock", this::waitForLock);
    setContentView(layout);
  }

  private void addButton(LinearLayout layout, String text, Runnable work) {
    Button button = new Button(this);
    button.setText(text);
    button.setOnClickListener(view -> work.run());
    layout.addView(button);
  }

  private void count() {
    long end = SystemClock.uptimeMillis() + 3000;
    long sum = 0;
    while (SystemClock.uptimeMillis() < end) ++sum;
    setTitle("Counted to " + sum);
  }

  private void waitForLock() {
    Thread holder = new Thread(() -> {
      synchronized (lock) {
        SystemClock.sleep(3000);
      }
    }, "lock-holder");
    holder.start();
    SystemClock.sleep(100);
    synchronized (lock) {
      setTitle("Got the lock");
    }
  }
}
