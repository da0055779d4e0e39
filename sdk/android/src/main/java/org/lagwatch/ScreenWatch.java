// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.Activity;
import android.app.Application;
import android.os.Bundle;
import android.os.SystemClock;
import android.view.ViewTreeObserver;

/**
 * Follows the app's screens: the foreground, the scene (the class of the screen's Activity, "NAME (touch)" while
 * it is touched), the app's readiness and each screen's launch time (the fact {@code app.screen_launch}).
 *
 * <p>Context: the main thread.
 */
final class ScreenWatch implements Application.ActivityLifecycleCallbacks {
  private final long loop;
  private final FrameWatch frames;
  private final QueueWatch queue;
  private final boolean hasOverlay;
  private boolean isReadyWanted; // until the first screen has the focus
  private int startedScreens;
  private Activity created;      // the one whose launch is measured; null: none
  private long createdAtMs;
  private String scene = "";

  ScreenWatch(long loop, FrameWatch frames, QueueWatch queue, boolean hasOverlay, boolean isStartWatched) {
    this.loop = loop;
    this.frames = frames;
    this.queue = queue;
    this.hasOverlay = hasOverlay;
    isReadyWanted = isStartWatched;
    // Until a screen is there: the process may have been started for a service.
    NativeLibrary.setForeground(isStartWatched);
    queue.setForeground(isStartWatched);
  }

  @Override
  public void onActivityCreated(Activity activity, Bundle state) {
    created = activity;
    createdAtMs = SystemClock.uptimeMillis();
  }

  @Override
  public void onActivityStarted(final Activity activity) {
    try {
      if (++startedScreens == 1) setForeground(true);
      InputWatch.install(activity.getWindow(), loop, this);
      frames.observe(activity.getWindow().getDecorView());
      if (activity == created) watchFocus(activity);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  @Override
  public void onActivityResumed(Activity activity) {
    try {
      scene = activity.getClass().getSimpleName();
      NativeLibrary.setScene(scene);
      if (hasOverlay) FpsView.show(activity, frames);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  @Override
  public void onActivityPaused(Activity activity) {}

  @Override
  public void onActivityStopped(Activity activity) {
    startedScreens = Math.max(startedScreens - 1, 0);
    if (startedScreens == 0) setForeground(false);
  }

  @Override
  public void onActivitySaveInstanceState(Activity activity, Bundle state) {}

  @Override
  public void onActivityDestroyed(Activity activity) {
    if (created == activity) created = null;
  }

  /** The screen is touched: its frames are counted separately. */
  void setTouched(boolean isTouched) {
    NativeLibrary.setScene(isTouched ? scene + " (touch)" : scene);
  }

  private void setForeground(boolean isForeground) {
    NativeLibrary.setForeground(isForeground);
    queue.setForeground(isForeground);
  }

  private void watchFocus(final Activity activity) {
    final ViewTreeObserver observer = activity.getWindow().getDecorView().getViewTreeObserver();
    observer.addOnWindowFocusChangeListener(new ViewTreeObserver.OnWindowFocusChangeListener() {
      @Override
      public void onWindowFocusChanged(boolean hasFocus) {
        if (!hasFocus || activity != created) return;
        created = null;
        onFirstFocus(activity);
        // The listener stays: an observer that has been merged into another must not be used any more.
      }
    });
  }

  private void onFirstFocus(Activity activity) {
    long launchMs = SystemClock.uptimeMillis() - createdAtMs;
    NativeLibrary.setValue("screen_launch", activity.getClass().getSimpleName() + " " + launchMs + " ms");
    if (!isReadyWanted) return;
    isReadyWanted = false;
    NativeLibrary.ready();
  }
}
