// SPDX-License-Identifier: Apache-2.0
package org.lagwatch.host;

import java.util.concurrent.CountDownLatch;

/** Work that takes too long. */
final class Freezes {
  private static final Object lock = new Object();
  private static volatile long spins;

  private Freezes() {}

  static void sleepHere(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException ignored) {
      Thread.currentThread().interrupt();
    }
  }

  static void spinHere(int ms) {
    long end = System.nanoTime() + ms * 1_000_000L;
    while (System.nanoTime() < end) ++spins;
  }

  static void waitForLockHere(int ms) {
    CountDownLatch isHeld = new CountDownLatch(1);
    Thread holder = new Thread(() -> holdLockHere(isHeld, ms), "lock-holder");
    holder.start();
    try {
      isHeld.await();
    } catch (InterruptedException ignored) {
      Thread.currentThread().interrupt();
    }
    synchronized (lock) {
      lock.notifyAll();
    }
  }

  private static void holdLockHere(CountDownLatch isHeld, int ms) {
    synchronized (lock) {
      isHeld.countDown();
      sleepHere(ms);
    }
  }

  static native void blockInNativeCode(int ms);

  static native int readyPipe();

  static native void readPipe(int fd);
}
