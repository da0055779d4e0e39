// SPDX-License-Identifier: Apache-2.0
package android.app;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.os.Bundle;
import java.io.File;
import java.util.ArrayList;

public class Application extends Context {
  public interface ActivityLifecycleCallbacks {
    void onActivityCreated(Activity activity, Bundle state);

    void onActivityStarted(Activity activity);

    void onActivityResumed(Activity activity);

    void onActivityPaused(Activity activity);

    void onActivityStopped(Activity activity);

    void onActivitySaveInstanceState(Activity activity, Bundle state);

    void onActivityDestroyed(Activity activity);
  }

  final ArrayList<ActivityLifecycleCallbacks> callbacks = new ArrayList<>();
  private final ApplicationInfo info = new ApplicationInfo();

  public void onCreate() {}

  public void registerActivityLifecycleCallbacks(ActivityLifecycleCallbacks added) {
    callbacks.add(added);
  }

  public void unregisterActivityLifecycleCallbacks(ActivityLifecycleCallbacks removed) {
    callbacks.remove(removed);
  }

  @Override
  public String getPackageName() {
    return "com.example.app";
  }

  @Override
  public PackageManager getPackageManager() {
    return new PackageManager() {
      @Override
      public PackageInfo getPackageInfo(String name, int flags) {
        PackageInfo found = new PackageInfo();
        found.versionName = "7.1";
        return found;
      }

      @Override
      public ApplicationInfo getApplicationInfo(String name, int flags) {
        return info;
      }
    };
  }

  @Override
  public ApplicationInfo getApplicationInfo() {
    return info;
  }

  @Override
  public Context getApplicationContext() {
    return this;
  }

  @Override
  public File getNoBackupFilesDir() {
    return new File(System.getProperty("android.files"));
  }

  @Override
  public Object getSystemService(String name) {
    return new ActivityManager();
  }
}
