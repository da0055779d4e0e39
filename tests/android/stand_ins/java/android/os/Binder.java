// SPDX-License-Identifier: Apache-2.0
package android.os;

public class Binder implements IBinder {
  public interface ProxyTransactListener {
    Object onTransactStarted(IBinder binder, int code);

    void onTransactEnded(Object session);
  }

  private static volatile ProxyTransactListener listener;

  public static void setProxyTransactListener(ProxyTransactListener replacement) {
    listener = replacement;
  }

  /** A call of another process; {@code work} is its part. */
  public void transact(int code, Runnable work) {
    ProxyTransactListener current = listener;
    Object session = current == null ? null : current.onTransactStarted(this, code);
    try {
      work.run();
    } finally {
      if (current != null) current.onTransactEnded(session);
    }
  }
}
