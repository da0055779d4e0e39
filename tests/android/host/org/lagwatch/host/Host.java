// SPDX-License-Identifier: Apache-2.0
package org.lagwatch.host;

import android.app.Application;
import android.os.Binder;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.MessageQueue;
import android.os.Process;
import android.view.Choreographer;
import android.view.MotionEvent;
import android.view.ViewGroup;
import android.widget.TextView;
import java.util.ArrayList;
import org.lagwatch.LagWatch;
import org.lagwatch.LagWatchOptions;
import org.lagwatch.LagWatchProvider;

/**
 * An app that freezes: Host STEP… NAME=VALUE… runs the steps one after the other, each as a message of the main
 * thread or as the step says, and ends. NAME=VALUE are lagwatch's options.
 */
public final class Host {
  private static final int FREEZE_MS = 600;
  private static final int PAUSE_MS = 100;

  private static final class MainHandler extends Handler {
    MainHandler(Looper looper) {
      super(looper);
    }

    @Override
    public void handleMessage(Message message) {
      Freezes.sleepHere(FREEZE_MS);
    }
  }

  private final Application application = new Application();
  private final LagWatchOptions options = new LagWatchOptions();
  private final ArrayList<String> steps = new ArrayList<>();
  private Handler handler;
  private MainScreen screen;
  private int printed;

  public static void main(String[] arguments) {
    new Host().run(arguments);
  }

  private void run(String[] arguments) {
    Bundle data = new Bundle();
    for (String argument : arguments) {
      int equals = argument.indexOf('=');
      if (equals < 0) {
        steps.add(argument);
        continue;
      }
      options.set(argument.substring(0, equals), argument.substring(equals + 1));
      data.put("org.lagwatch." + argument.substring(0, equals), argument.substring(equals + 1));
    }
    Looper.prepareMainLooper();
    handler = new MainHandler(Looper.getMainLooper());
    if (steps.remove("printer-before")) setPrinter();
    if (steps.remove("provider")) {
      data.put("org.lagwatch.enabled", true);
      application.getApplicationInfo().metaData = data;
      new LagWatchProvider().attach(application);
    } else if (!LagWatch.init(application, options)) {
      System.out.println("off: " + LagWatch.whyOff());
    }
    handler.postDelayed(this::next, PAUSE_MS);
    Looper.loop();
    LagWatch.stop(5000);
    System.out.println("printed: " + (printed > 0));
    System.out.println("stopped: " + LagWatch.whyOff());
  }

  private void next() {
    if (steps.isEmpty()) {
      Looper.myLooper().quit();
      return;
    }
    handler.postDelayed(this::next, runStep(steps.remove(0)));
  }

  /** Returns the ms to wait for its end. */
  private int runStep(String step) {
    switch (step) {
      case "sleep":
        return post(() -> Freezes.sleepHere(FREEZE_MS));
      case "message":
        handler.sendEmptyMessage(42);
        return PAUSE_MS;
      case "lock":
        return post(() -> Freezes.waitForLockHere(FREEZE_MS));
      case "native":
        return post(() -> Freezes.blockInNativeCode(FREEZE_MS));
      case "spin":
        return post(() -> Freezes.spinHere(FREEZE_MS));
      case "screen":
        screen = new MainScreen();
        return post(() -> screen.launch(application));
      case "leave":
        return post(screen::leave);
      case "nothing":
        return FREEZE_MS;
      case "ready-queue":
        repost(2 * FREEZE_MS / 5);
        return FREEZE_MS;
      case "idle-handler":
        Looper.myQueue().addIdleHandler(() -> {
          Freezes.sleepHere(FREEZE_MS);
          return false;
        });
        return PAUSE_MS;
      case "barrier":
        leaveBarrier(Looper.myQueue());
        return PAUSE_MS;
      case "frames":
        draw(3, 1);
        return FREEZE_MS;
      case "slow-frame":
        draw(2, FREEZE_MS / 2);
        return 2 * FREEZE_MS;
      case "touch":
        touchInWait();
        return PAUSE_MS;
      case "binder":
        return post(() -> new Binder().transact(7, () -> Freezes.sleepHere(FREEZE_MS / 2)));
      case "priority":
        Process.setThreadPriority(0, 5);
        return 2 * FREEZE_MS;
      case "printer-after":
        setPrinter();
        return 2 * FREEZE_MS;
      case "exit":
        post(() -> System.exit(0));
        return FREEZE_MS;
      case "overlay":
        System.out.println("overlay: " + overlayText());
        return PAUSE_MS;
      case "restart":
        LagWatch.stop(0);
        LagWatch.init(application, options);
        return PAUSE_MS;
      case "dump":
        System.out.println("dump: " + LagWatch.dump("asked"));
        return FREEZE_MS;
      default:
        System.out.println("no step " + step);
        return 0;
    }
  }

  private int post(Runnable work) {
    handler.post(work);
    return PAUSE_MS;
  }

  private CharSequence overlayText() {
    ViewGroup decorView = (ViewGroup) screen.getWindow().getDecorView();
    return decorView.getChildCount() == 0 ? "" : ((TextView) decorView.getChildAt(0)).getText();
  }

  private void setPrinter() {
    Looper.getMainLooper().setMessageLogging(line -> ++printed);
  }

  /** The queue always has a message that is due. */
  private void repost(int count) {
    Freezes.sleepHere(5);
    if (count > 0) handler.post(() -> repost(count - 1));
  }

  private static void leaveBarrier(MessageQueue queue) {
    queue.postSyncBarrier();
    new Thread(() -> {
      Freezes.sleepHere(2 * FREEZE_MS);
      queue.removeSyncBarrier();
    }).start();
  }

  private void draw(int frames, int ms) {
    Choreographer.getInstance().postTraversal(() -> {
      screen.getWindow().getDecorView().getViewTreeObserver().dispatchOnPreDraw();
      Freezes.sleepHere(ms);
      if (frames > 1) draw(frames - 1, ms);
    });
  }

  /** The event comes by a descriptor, without a message, as Android's do. */
  private void touchInWait() {
    int fd = Freezes.readyPipe();
    Looper.myQueue().addOnFdEventListener(fd, ready -> {
      Freezes.readPipe(ready);
      screen.getWindow().getCallback().dispatchTouchEvent(new MotionEvent(MotionEvent.ACTION_DOWN));
    });
  }
}
