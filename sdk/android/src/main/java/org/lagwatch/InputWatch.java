// SPDX-License-Identifier: Apache-2.0
package org.lagwatch;

import android.os.SystemClock;
import android.view.InputEvent;
import android.view.MotionEvent;
import android.view.Window;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * Marks input events as dispatches: Android delivers many of them from within the queue's wait, without a
 * message. Stands in front of the window's callback and passes every call on.
 */
final class InputWatch implements InvocationHandler {
  private final Window.Callback callback;
  private final long loop;
  private final ScreenWatch screens;

  private InputWatch(Window.Callback callback, long loop, ScreenWatch screens) {
    this.callback = callback;
    this.loop = loop;
    this.screens = screens;
  }

  static void install(Window window, long loop, ScreenWatch screens) {
    Window.Callback callback = window.getCallback();
    if (callback == null) return;
    if (Proxy.isProxyClass(callback.getClass()) && Proxy.getInvocationHandler(callback) instanceof InputWatch) return;
    window.setCallback((Window.Callback) Proxy.newProxyInstance(
        InputWatch.class.getClassLoader(), new Class<?>[] {Window.Callback.class},
        new InputWatch(callback, loop, screens)));
  }

  @Override
  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    boolean isInput = arguments != null && arguments.length == 1 && arguments[0] instanceof InputEvent;
    if (isInput) begin(method.getName(), (InputEvent) arguments[0]);
    try {
      return method.invoke(callback, arguments);
    } catch (InvocationTargetException failed) {
      throw failed.getCause(); // the app's own
    } finally {
      if (isInput) NativeLibrary.dispatchEnd(loop);
    }
  }

  private void begin(String name, InputEvent event) {
    NativeLibrary.dispatchBegin(loop, name);
    NativeLibrary.noteQueueWait(loop, (SystemClock.uptimeMillis() - event.getEventTime()) * 1_000_000);
    if (!(event instanceof MotionEvent)) return;
    int action = ((MotionEvent) event).getAction();
    if (action == MotionEvent.ACTION_DOWN) screens.setTouched(true);
    if (action == MotionEvent.ACTION_UP || action == MotionEvent.ACTION_CANCEL) screens.setTouched(false);
  }
}
