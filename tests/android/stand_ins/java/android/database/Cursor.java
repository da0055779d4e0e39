// SPDX-License-Identifier: Apache-2.0
package android.database;

public interface Cursor {}
