// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.app.Application;
import android.content.ContentProvider;
import android.content.ContentValues;
import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.database.Cursor;
import android.net.Uri;
import android.os.Bundle;

/**
 * Starts lagwatch without code, before Application.onCreate(), if the manifest's application has the meta-data
 * {@code org.lagwatch.enabled} = true. Every other {@code org.lagwatch.NAME} is the option NAME.
 */
public final class LagWatchProvider extends ContentProvider {
  private static final String PREFIX = "org.lagwatch.";
  private static final String ENABLED = "enabled";

  @Override
  public boolean onCreate() {
    try {
      start(getContext());
    } catch (Throwable failed) {
      Failures.count(failed);
    }
    return true;
  }

  private static void start(Context context) throws PackageManager.NameNotFoundException {
    ApplicationInfo info = context
        .getPackageManager()
        .getApplicationInfo(context.getPackageName(), PackageManager.GET_META_DATA);
    Context application = context.getApplicationContext();
    Bundle data = info.metaData;
    if (data == null || !data.getBoolean(PREFIX + ENABLED, false)) return;
    if (!(application instanceof Application)) return;
    LagWatch.init((Application) application, optionsOf(data));
  }

  private static LagWatchOptions optionsOf(Bundle data) {
    LagWatchOptions options = new LagWatchOptions();
    for (String key : data.keySet()) {
      if (!key.startsWith(PREFIX)) continue;
      String name = key.substring(PREFIX.length());
      Object value = data.get(key); // Android makes numbers and booleans of texts that look like ones
      if (name.equals(ENABLED) || value == null) continue;
      options.set(name, value instanceof Boolean ? ((Boolean) value ? "1" : "0") : value.toString());
    }
    return options;
  }

  // It provides nothing.

  @Override
  public Cursor query(Uri uri, String[] projection, String selection, String[] arguments, String order) {
    return null;
  }

  @Override
  public String getType(Uri uri) {
    return null;
  }

  @Override
  public Uri insert(Uri uri, ContentValues values) {
    return null;
  }

  @Override
  public int delete(Uri uri, String selection, String[] arguments) {
    return 0;
  }

  @Override
  public int update(Uri uri, ContentValues values, String selection, String[] arguments) {
    return 0;
  }
}
