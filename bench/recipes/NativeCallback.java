// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.channels.Selector;

public class NativeCallback {
  static native void visit(Runnable each);

  static void load() {
    try {
      Thread.sleep(1200); // FREEZE load
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static void handle() throws Exception {
    System.load(System.getenv("RECIPE_LIBRARY"));
    visit(NativeCallback::load); // BETWEEN Java_NativeCallback_visit
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
