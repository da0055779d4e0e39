// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts what fails in lagwatch's Java code: nothing is thrown into the app. */
final class Failures {
  private static final AtomicInteger count = new AtomicInteger();

  private Failures() {}

  /** Reports have the number and the newest failure's class as the fact {@code app.java_failures}. */
  static void count(Throwable failure) {
    int failures = count.incrementAndGet();
    try {
      NativeLibrary.setValue("java_failures", failures + " " + failure.getClass().getSimpleName());
    } catch (Throwable ignored) {
      // The native library is not there: LagWatch.whyOff() says so.
    }
  }

  static int count() {
    return count.get();
  }
}
