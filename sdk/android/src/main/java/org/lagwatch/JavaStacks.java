// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.Looper;
import android.os.Process;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Java stacks by the kernel's id of their thread, for native code. The main thread and registered ones are known;
 * any other is found by its name, if no second thread has it.
 */
final class JavaStacks {
  /** The kernel's names of threads are cut to this: Android keeps the end of one with a dot, others the begin. */
  private static final int KERNEL_NAME_LENGTH = 15;

  private static final ConcurrentHashMap<Integer, WeakReference<Thread>> registered = new ConcurrentHashMap<>();

  private JavaStacks() {}

  static void register(Thread thread, int tid) {
    registered.put(tid, new WeakReference<>(thread));
  }

  /** Loads the classes that the first call needs: that one is made while the main thread hangs. */
  static void warmUp() {
    read(NativeLibrary.threadId(), 1);
  }

  /**
   * Lines "CLASS.METHOD, FILE, NUMBER", separated by tabs, innermost first; null if there are none. Context: a
   * thread of lagwatch, by JNI.
   */
  static byte[] read(int tid, int capacity) {
    try {
      Thread thread = find(tid);
      if (thread == null) return null;
      StackTraceElement[] trace = thread.getStackTrace();
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < trace.length && i < capacity; ++i) append(trace[i], text);
      return text.toString().getBytes(StandardCharsets.UTF_8);
    } catch (Throwable failed) {
      Failures.count(failed);
      return null;
    }
  }

  private static void append(StackTraceElement frame, StringBuilder text) {
    text.append(frame.getClassName()).append('.').append(frame.getMethodName()).append('\t');
    if (frame.getFileName() != null) text.append(frame.getFileName());
    text.append('\t').append(Math.max(frame.getLineNumber(), 0)).append('\n');
  }

  private static Thread find(int tid) throws IOException {
    WeakReference<Thread> known = registered.get(tid);
    if (known != null) return known.get();
    if (tid == Process.myPid() && registered.isEmpty()) return Looper.getMainLooper().getThread();
    return findByName(kernelNameOf(tid));
  }

  private static String kernelNameOf(int tid) throws IOException {
    try (FileInputStream file = new FileInputStream("/proc/self/task/" + tid + "/comm")) {
      byte[] name = new byte[64];
      int size = file.read(name);
      return size <= 1 ? "" : new String(name, 0, size - 1, StandardCharsets.UTF_8);
    }
  }

  private static Thread findByName(String kernelName) {
    if (kernelName.isEmpty()) return null;
    Thread found = null;
    for (Thread thread : allThreads()) {
      if (thread == null) break;
      if (!isCalled(thread.getName(), kernelName)) continue;
      if (found != null) return null;
      found = thread;
    }
    return found;
  }

  private static boolean isCalled(String name, String kernelName) {
    if (name.length() <= KERNEL_NAME_LENGTH) return name.equals(kernelName);
    return kernelName.length() == KERNEL_NAME_LENGTH && (name.startsWith(kernelName) || name.endsWith(kernelName));
  }

  /** Ends with null if there are fewer than its length. */
  private static Thread[] allThreads() {
    ThreadGroup group = Thread.currentThread().getThreadGroup();
    while (group.getParent() != null) group = group.getParent();
    Thread[] threads = new Thread[group.activeCount() + 16];
    group.enumerate(threads);
    return threads;
  }
}
