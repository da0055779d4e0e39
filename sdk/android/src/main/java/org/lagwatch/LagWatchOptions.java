// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The options of {@link LagWatch#init}. The usual ones have methods; {@link #set} takes every name of lagwatch's
 * docs/configuration.md, and those of this class that begin with {@code android_}.
 */
public final class LagWatchOptions {
  private static final String OWN_PREFIX = "android_";

  private final Map<String, String> values = new LinkedHashMap<>();

  /** The app's name in reports. Default: its package. */
  public LagWatchOptions app(String name) {
    return set("app", name);
  }

  /** Default: the package's versionName. */
  public LagWatchOptions appVersion(String version) {
    return set("app_version", version);
  }

  /** The collector's URL. Default: none, reports stay in the spool directory. */
  public LagWatchOptions endpoint(String url) {
    return set("endpoint", url);
  }

  /** The collector's key for this project. */
  public LagWatchOptions key(String key) {
    return set("key", key);
  }

  /** The affected user, as a pseudonym. */
  public LagWatchOptions user(String pseudonym) {
    return set("user", pseudonym);
  }

  /** Default: lagwatch in the app's directory for files that are not backed up. */
  public LagWatchOptions spoolDirectory(String directory) {
    return set("spool_directory", directory);
  }

  /** A message that takes longer is a hang. Default: 2000. */
  public LagWatchOptions thresholdMs(int ms) {
    return set("threshold_ms", Integer.toString(ms));
  }

  /** A hang that takes longer is an ANR. Default: 5000, as Android's own for input. */
  public LagWatchOptions anrThresholdMs(int ms) {
    return set("anr_threshold_ms", Integer.toString(ms));
  }

  /** Shows the frames per second above each screen, in debuggable builds only. Default: false. */
  public LagWatchOptions fpsOverlay(boolean isShown) {
    return set("android_fps_overlay", isShown ? "1" : "0");
  }

  /** Sets an option by name. A name that is not known has no effect; it is counted as a failure. */
  public LagWatchOptions set(String name, String value) {
    values.put(name, value == null ? "" : value);
    return this;
  }

  /** Sets the option unless it has a value. */
  void setDefault(String name, String value) {
    if (!values.containsKey(name) && value != null) values.put(name, value);
  }

  LagWatchOptions copy() {
    LagWatchOptions copy = new LagWatchOptions();
    copy.values.putAll(values);
    return copy;
  }

  /** The options of the native library: names and values alternate. */
  String[] nativeValues() {
    String[] found = new String[2 * values.size()];
    int count = 0;
    for (Map.Entry<String, String> entry : values.entrySet()) {
      if (entry.getKey().startsWith(OWN_PREFIX)) continue;
      found[count++] = entry.getKey();
      found[count++] = entry.getValue();
    }
    String[] result = new String[count];
    System.arraycopy(found, 0, result, 0, count);
    return result;
  }

  boolean isOn(String name, boolean byDefault) {
    return number(name, byDefault ? 1 : 0) != 0;
  }

  int number(String name, int byDefault) {
    String value = values.get(name);
    if (value == null) return byDefault;
    if (value.equals("true")) return 1;
    if (value.equals("false")) return 0;
    try {
      return Integer.parseInt(value.trim());
    } catch (NumberFormatException failure) {
      Failures.count(failure);
      return byDefault;
    }
  }
}
