// SPDX-License-Identifier: Apache-2.0
package org.shop;

import java.util.Iterator;

class Cart {
  static class Line {
    private final int number;
    Line(int number) { this.number = number; }
    int price() {
      return Tax.add(number) + Tax.check(number);
    }
  }

  int total(int items) {
    int sum = 0;
    for (int i = 0; i < items; ++i) {
      sum += Tax.add(i);
    }
    return sum;
  }

  int total(String items) {
    return Integer.parseInt(items) + Tax.check(Integer.parseInt(items));
  }

  int total(long items) {
    if (items > 2) {
      Tax.fail("long");
    }
    return (int) items;
  }

  void each(Main.Sink sink) {
    sink.put(0);
    sink.put(1);
  }

  Iterator<Integer> items() {
    return new Iterator<Integer>() {
      @Override public boolean hasNext() { return true; }
      @Override public Integer next() {
        Tax.fail("next");
        return 1;
      }
    };
  }
}
