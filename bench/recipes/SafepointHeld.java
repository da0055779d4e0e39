// SPDX-License-Identifier: Apache-2.0
// VERDICT safepoint
// OPTIONS -XX:+UseSerialGC
import java.io.*;
import java.nio.channels.Selector;

public class SafepointHeld {
  static volatile int sum;

  static int checksum(int end) {
    int value = 0;
    for (int i = 0; i < end; i++) value = value * 31 + i; // KEEPS checksum
    return value;
  }

  static void collect() {
    while (true) System.gc();
  }

  static void start(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }

  static void handle() throws Exception {
    for (int i = 0; i < 3000; i++) sum = checksum(20_000);
    start(() -> sum = checksum(2_000_000_000));
    Thread.sleep(50);
    start(SafepointHeld::collect);
    long end = System.nanoTime() + 200_000_000L;
    while (System.nanoTime() < end) sum++; // FREEZE handle
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
