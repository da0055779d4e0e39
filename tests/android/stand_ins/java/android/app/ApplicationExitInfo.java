// SPDX-License-Identifier: Apache-2.0
package android.app;

public final class ApplicationExitInfo {
  private final int reason;
  private final int status;

  ApplicationExitInfo(int reason, int status) {
    this.reason = reason;
    this.status = status;
  }

  public int getReason() {
    return reason;
  }

  public int getStatus() {
    return status;
  }
}
