// SPDX-License-Identifier: Apache-2.0
package org.shop;

public class Main {
  interface Sink { void put(int value); }

  private final Cart cart = new Cart();

  public static void main(String[] arguments) throws Exception {
    Main main = new Main();
    for (int i = 0; i < 7; ++i) {
      try {
        main.run(i);
      } catch (IllegalStateException failed) {
        StringBuilder text = new StringBuilder();
        for (StackTraceElement frame : failed.getStackTrace()) text.append("\tat " + frame + "\n");
        System.out.print("Exception " + i + "\n" + text);
      }
    }
  }

  void run(int way) {
    switch (way) {
      case 0: cart.total(3); break;
      case 1: cart.total("4"); break;
      case 2: cart.each(value -> { if (value > 0) throw new IllegalStateException("lambda"); }); break;
      case 3: new Cart.Line(7).price(); break;
      case 4: cart.total(3L); break;
      case 5: new Thread() { @Override public void run() { cart.total(1); } }.run(); break;
      default: cart.items().next(); break;
    }
  }
}
