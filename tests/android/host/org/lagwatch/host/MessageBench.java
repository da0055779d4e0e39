// SPDX-License-Identifier: Apache-2.0
package org.lagwatch.host;

import android.app.Application;
import android.os.Handler;
import android.os.Looper;
import android.util.Printer;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Locale;
import org.lagwatch.LagWatch;
import org.lagwatch.LagWatchOptions;

/**
 * MessageBench SPOOL prints the ns that lagwatch's printer adds to a message, and those that an empty printer adds
 * (Looper makes the lines), of the thread's CPU time: medians of rounds, which take turns.
 */
public final class MessageBench implements Runnable {
  private static final int MESSAGES = 100_000;
  private static final int ROUNDS = 3 * 11;

  private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
  private final Handler handler;
  private final Printer watch;
  private final Printer empty = line -> {};
  private final double[][] ns = new double[3][ROUNDS / 3]; // without a printer, with an empty one, with lagwatch's
  private int round;
  private int messages;
  private long beginNs;

  private MessageBench(Handler handler, Printer watch) {
    this.handler = handler;
    this.watch = watch;
  }

  public static void main(String[] arguments) throws ReflectiveOperationException {
    Looper.prepareMainLooper();
    if (!LagWatch.init(new Application(), new LagWatchOptions().spoolDirectory(arguments[0]))) {
      throw new IllegalStateException(LagWatch.whyOff());
    }
    Field field = Looper.class.getDeclaredField("mLogging");
    field.setAccessible(true);
    MessageBench bench = new MessageBench(new Handler(Looper.getMainLooper()), (Printer) field.get(Looper.myLooper()));
    bench.handler.post(bench);
    Looper.loop();
    LagWatch.stop(0);
    double without = bench.median(0);
    System.out.printf(Locale.ROOT, "%.1f %.1f%n", bench.median(2) - without, bench.median(1) - without);
  }

  private double median(int kind) {
    Arrays.sort(ns[kind]);
    return ns[kind][ns[kind].length / 2];
  }

  @Override
  public void run() {
    if (messages == 0) {
      Looper.myLooper().setMessageLogging(round % 3 == 0 ? null : round % 3 == 1 ? empty : watch);
      beginNs = clock.getCurrentThreadCpuTime();
    }
    if (++messages == MESSAGES) {
      ns[round % 3][round / 3] = (clock.getCurrentThreadCpuTime() - beginNs) / (double) MESSAGES;
      messages = 0;
      if (++round == ROUNDS) {
        Looper.myLooper().quit();
        return;
      }
    }
    handler.post(this);
  }
}
