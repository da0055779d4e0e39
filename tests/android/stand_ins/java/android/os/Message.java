// SPDX-License-Identifier: Apache-2.0
package android.os;

public final class Message {
  public int what;
  public Object obj;
  Handler target; // null: a barrier
  Runnable callback;
  long when;

  public static Message obtain() {
    return new Message();
  }
}
