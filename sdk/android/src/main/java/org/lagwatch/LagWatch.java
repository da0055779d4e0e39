// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.Application;
import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageInfo;
import android.os.Build;
import android.os.Handler;
import android.os.Looper;

/**
 * Watches the app's main thread for hangs. Call {@link #init} in Application.onCreate(), or let {@link
 * LagWatchProvider} start it.
 *
 * <p>Thread safety: all methods may be called on any thread, at any time. None of them throws: what fails is
 * counted, and {@link #whyOff} says why the monitor is off.
 */
public final class LagWatch {
  private static boolean isStarted; // guarded by the class
  private static String failure = "lagwatch: LagWatch.init() was not called";

  private LagWatch() {}

  /**
   * Starts the monitor. Returns true if it is on. A second call has no effect: the first one's options stay in
   * force.
   */
  public static synchronized boolean init(Application application, LagWatchOptions options) {
    if (isStarted) return true;
    try {
      LagWatchOptions own = options.copy();
      addDefaults(application, own);
      int status = NativeLibrary.start(own.nativeValues(), own.isOn("android_java_stacks", true));
      if (status == NativeLibrary.STATUS_OFF) return false;
      isStarted = true;
      failure = "";
      addFacts(application);
      installOnMainThread(application, own);
    } catch (Throwable failed) {
      failure = "lagwatch: " + failed;
      Failures.count(failed);
    }
    return isStarted;
  }

  /** The app's current activity for reports and frames: by default the name of the screen's Activity. */
  public static void scene(String scene) {
    try {
      NativeLibrary.setScene(scene);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** A value that every later report has as the fact "app.KEY"; null removes it. It must not name a person. */
  public static boolean value(String key, String value) {
    try {
      return NativeLibrary.setValue(key, value);
    } catch (Throwable failed) {
      Failures.count(failed);
      return false;
    }
  }

  /** The app is ready to be used. By default: when the first screen gets the focus. */
  public static void ready() {
    try {
      NativeLibrary.ready();
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** Requests a report with the stacks of all threads; true if it will be made. */
  public static boolean dump(String reason) {
    try {
      return NativeLibrary.dump(reason);
    } catch (Throwable failed) {
      Failures.count(failed);
      return false;
    }
  }

  /** The user's consent. Without it nothing is watched, kept or sent. May block: not on the main thread. */
  public static void consent(boolean isGiven) {
    try {
      NativeLibrary.setConsent(isGiven);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** Stops the monitor; waits up to {@code flushTimeoutMs} for the upload of what is on disk. */
  public static synchronized void stop(int flushTimeoutMs) {
    if (!isStarted) return;
    isStarted = false;
    failure = "lagwatch: LagWatch.stop() was called";
    try {
      MainThreadWatch.stop();
      NativeLibrary.stop(flushTimeoutMs);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  /** The reason why the monitor is off; empty when it is on. */
  public static synchronized String whyOff() {
    try {
      String reason = NativeLibrary.whyOff();
      return reason.isEmpty() ? failure : reason;
    } catch (Throwable failed) {
      return failure.isEmpty() ? failed.toString() : failure;
    }
  }

  private static void addDefaults(Context context, LagWatchOptions options) {
    options.setDefault("app", context.getPackageName());
    options.setDefault("app_version", versionOf(context));
    options.setDefault("spool_directory", context.getNoBackupFilesDir().getPath() + "/lagwatch");
    options.setDefault("start", Startup.isForScreen() ? "1" : "0");
  }

  private static String versionOf(Context context) {
    try {
      PackageInfo info = context.getPackageManager().getPackageInfo(context.getPackageName(), 0);
      return info.versionName;
    } catch (Exception failed) {
      Failures.count(failed);
      return null;
    }
  }

  private static void addFacts(Context context) {
    NativeLibrary.setValue("device", Build.MANUFACTURER + " " + Build.MODEL);
    NativeLibrary.setValue("android", Build.VERSION.RELEASE);
    Startup.addFacts();
    ExitReasons.addLastOne(context);
  }

  private static void installOnMainThread(final Application application, final LagWatchOptions options) {
    final boolean isDebuggable = (application.getApplicationInfo().flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0;
    if (Looper.myLooper() == Looper.getMainLooper()) {
      MainThreadWatch.start(application, options, isDebuggable);
      return;
    }
    new Handler(Looper.getMainLooper()).post(() -> MainThreadWatch.start(application, options, isDebuggable));
  }
}
