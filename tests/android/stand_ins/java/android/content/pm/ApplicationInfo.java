// SPDX-License-Identifier: Apache-2.0
package android.content.pm;

import android.os.Bundle;

public class ApplicationInfo {
  public static final int FLAG_DEBUGGABLE = 2;

  public int flags = FLAG_DEBUGGABLE;
  public Bundle metaData;
}
