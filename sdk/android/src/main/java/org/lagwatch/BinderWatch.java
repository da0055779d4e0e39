// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.Binder;
import android.os.Looper;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * Marks the main thread's calls of other processes as scopes with a deadline, by
 * Binder.setProxyTransactListener(). That is not part of Android's SDK: where the system refuses it, such calls
 * have no scopes, and their hangs are found as those of their messages.
 */
final class BinderWatch implements InvocationHandler {
  private static boolean isInstalled; // guarded by MainThreadWatch, the one caller

  private final long loop;
  private final int deadlineMs;
  private final Thread thread;
  private final long name;

  private BinderWatch(long loop, int deadlineMs) {
    this.loop = loop;
    this.deadlineMs = deadlineMs;
    thread = Looper.getMainLooper().getThread();
    name = NativeLibrary.nameOf("binder call");
  }

  static void start(long loop, int deadlineMs) {
    if (deadlineMs <= 0) return;
    try {
      setListener(new BinderWatch(loop, deadlineMs));
      isInstalled = true;
    } catch (Throwable refused) {
      // Usual on phones: it is no failure.
    }
  }

  static void stop() {
    if (!isInstalled) return;
    isInstalled = false;
    try {
      setListener(null);
    } catch (Throwable failed) {
      Failures.count(failed);
    }
  }

  private static void setListener(BinderWatch watch) throws ReflectiveOperationException {
    Class<?> type = Class.forName("android.os.Binder$ProxyTransactListener");
    Method setter = Binder.class.getMethod("setProxyTransactListener", type);
    Object listener = watch == null
        ? null
        : Proxy.newProxyInstance(BinderWatch.class.getClassLoader(), new Class<?>[] {type}, watch);
    setter.invoke(null, listener);
  }

  /** onTransactStarted returns an object that onTransactEnded gets. */
  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) {
    switch (method.getName()) {
      case "onTransactStarted":
        if (Thread.currentThread() != thread) return null;
        NativeLibrary.scopeBegin(loop, name, deadlineMs);
        return this;
      case "onTransactEnded":
        if (arguments[0] == this) NativeLibrary.scopeEnd(loop);
        return null;
      case "equals":
        return proxy == arguments[0];
      case "hashCode":
        return System.identityHashCode(this);
      default:
        return method.getName().equals("toString") ? "lagwatch" : null;
    }
  }
}
