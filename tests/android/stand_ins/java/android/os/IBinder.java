// SPDX-License-Identifier: Apache-2.0
package android.os;

public interface IBinder {
  int FIRST_CALL_TRANSACTION = 1;
}
