// SPDX-License-Identifier: Apache-2.0
package android.graphics;

public class Color {
  public static final int WHITE = 0xFFFFFFFF;
  public static final int DKGRAY = 0xFF444444;
}
