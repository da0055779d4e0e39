// SPDX-License-Identifier: Apache-2.0
package android.net;

public abstract class Uri {}
