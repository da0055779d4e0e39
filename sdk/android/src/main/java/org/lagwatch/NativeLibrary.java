// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

/** The functions of liblagwatch_jni.so: lagwatch's C interface (lagwatch/c.h), one to one. */
final class NativeLibrary {
  private NativeLibrary() {}

  static {
    System.loadLibrary("lagwatch_jni");
  }

  static final int STATUS_OFF = 2;

  /** {@code namesAndValues} alternate. Names that are no options are counted as failures and ignored. */
  static native int start(String[] namesAndValues, boolean hasJavaStacks);

  static native void stop(int flushTimeoutMs);

  static native String whyOff();

  static native int setConsent(boolean isGiven);

  static native boolean dump(String reason);

  static native void setScene(String scene);

  static native boolean setValue(String key, String value);

  static native void setForeground(boolean isForeground);

  static native void ready();

  /** Watches the calling thread's loop. The result is valid until the process ends; 0 is accepted everywhere. */
  static native long watchLoop(String name);

  /** {@code line} is the one that Looper prints at the begin of a message, or any other name. */
  static native void dispatchBegin(long loop, String line);

  static native void dispatchEnd(long loop);

  static native void noteQueueWait(long loop, long waitNs);

  static native void noteQueued(long loop);

  static native void noteRun(long loop);

  static native void idleBegin(long loop);

  static native void idleEnd(long loop);

  /** Returns a copy of the text that is never released. */
  static native long nameOf(String text);

  static native void scopeBegin(long loop, long name, int deadlineMs);

  static native void scopeEnd(long loop);

  static native void frameBegin(long loop, long vsyncNs);

  /** {@code stage} is an lw_stage. */
  static native void frameStage(long loop, int stage);

  static native void frameEnd(long loop);

  /** The kernel's id of the calling thread. */
  static native int threadId();
}
