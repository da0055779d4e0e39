// SPDX-License-Identifier: Apache-2.0
package android.view;

public class Gravity {
  public static final int TOP = 48;
  public static final int END = 8388613;
}
