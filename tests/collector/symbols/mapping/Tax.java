// SPDX-License-Identifier: Apache-2.0
package org.shop;

final class Tax {
  static int add(int price) {
    if (price == 0) return 0;
    return check(price + 1);
  }

  static int check(int price) {
    if (price > 1) fail("price " + price);
    return price;
  }

  static void fail(String reason) {
    throw new IllegalStateException(reason);
  }
}
