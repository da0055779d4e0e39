// SPDX-License-Identifier: Apache-2.0
// VERDICT deadlock
import java.io.*;
import java.nio.channels.Selector;

public class MonitorAndMutex {
  static final Object orders = new Object();

  static native void lock();

  static native void unlock();

  static void importOrders() {
    lock();
    pause();
    synchronized (orders) { // ALSO importOrders
      orders.hashCode();
    }
    unlock();
  }

  static void pause() {
    try {
      Thread.sleep(200);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static void handle() throws Exception {
    System.load(System.getenv("RECIPE_LIBRARY"));
    new Thread(MonitorAndMutex::importOrders).start();
    synchronized (orders) {
      pause();
      lock(); // FREEZE handle
      unlock();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Selector selector = Selector.open();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = ""; !line.equals("freeze");) {
      selector.select(10);
      if (System.in.available() == 0 && !input.ready()) continue;
      line = input.readLine();
      if (line.equals("freeze")) handle();
    }
    selector.select(100);
  }
}
