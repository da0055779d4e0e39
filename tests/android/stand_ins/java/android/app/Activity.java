// SPDX-License-Identifier: Apache-2.0
package android.app;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.view.InputEvent;
import android.view.MotionEvent;
import android.view.Window;
import java.io.File;

public class Activity extends Context implements Window.Callback {
  private Application application;
  private final Window window = new Window(this);

  public Window getWindow() {
    return window;
  }

  protected void onCreate() {}

  /** As ActivityThread does. */
  public final void launch(Application application) {
    this.application = application;
    for (Application.ActivityLifecycleCallbacks each : application.callbacks) each.onActivityCreated(this, null);
    onCreate();
    for (Application.ActivityLifecycleCallbacks each : application.callbacks) each.onActivityStarted(this);
    for (Application.ActivityLifecycleCallbacks each : application.callbacks) each.onActivityResumed(this);
    window.getDecorView().getViewTreeObserver().dispatchWindowFocusChange(true);
  }

  public final void leave() {
    for (Application.ActivityLifecycleCallbacks each : application.callbacks) each.onActivityPaused(this);
    for (Application.ActivityLifecycleCallbacks each : application.callbacks) each.onActivityStopped(this);
  }

  @Override
  public boolean dispatchTouchEvent(MotionEvent event) {
    return false;
  }

  @Override
  public boolean dispatchGenericEvent(InputEvent event) {
    return false;
  }

  @Override
  public void onContentChanged() {}

  @Override
  public String getPackageName() {
    return application.getPackageName();
  }

  @Override
  public PackageManager getPackageManager() {
    return application.getPackageManager();
  }

  @Override
  public ApplicationInfo getApplicationInfo() {
    return application.getApplicationInfo();
  }

  @Override
  public Context getApplicationContext() {
    return application;
  }

  @Override
  public File getNoBackupFilesDir() {
    return application.getNoBackupFilesDir();
  }

  @Override
  public Object getSystemService(String name) {
    return application.getSystemService(name);
  }
}
