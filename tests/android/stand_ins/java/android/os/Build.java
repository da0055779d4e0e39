// SPDX-License-Identifier: Apache-2.0
package android.os;

public final class Build {
  public static final String MANUFACTURER = "Example";
  public static final String MODEL = "Phone 3";

  public static final class VERSION {
    public static final String RELEASE = "14";
    public static final int SDK_INT = Integer.getInteger("android.sdk", 34);
  }

  public static final class VERSION_CODES {
    public static final int N = 24;
    public static final int R = 30;
  }
}
