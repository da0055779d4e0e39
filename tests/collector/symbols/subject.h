// SPDX-License-Identifier: Apache-2.0
// A second file, so that what is inlined is not all from one.
#pragma once

namespace subject {

inline int Scaled(int number) {
  int scaled = 0;
  while (number > 0) {
    scaled = scaled * 3 + number % 10;
    number /= 10;
  }
  return scaled;
}

}  // namespace subject
