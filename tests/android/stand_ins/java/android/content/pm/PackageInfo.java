// SPDX-License-Identifier: Apache-2.0
package android.content.pm;

public class PackageInfo {
  public String versionName;
}
