// SPDX-License-Identifier: Apache-2.0
package org.lagwatch.sample;

import android.app.Application;
import org.lagwatch.LagWatch;
import org.lagwatch.LagWatchOptions;

public final class SampleApplication extends Application {
  @Override
  public void onCreate() {
    super.onCreate();
    LagWatch.init(this, new LagWatchOptions()
        .endpoint("http://10.0.2.2:8790") // the emulator's host
        .key("THE COLLECTOR'S KEY")
        .fpsOverlay(true)
        .set("user_rate_ppm", "1000000"));
  }
}
