// SPDX-License-Identifier: Apache-2.0
package android.content;

public final class ContentValues {}
