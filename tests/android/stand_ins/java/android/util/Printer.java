// SPDX-License-Identifier: Apache-2.0
package android.util;

public interface Printer {
  void println(String line);
}
