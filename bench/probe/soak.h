// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lagwatch::bench {

struct SoakResult {
  std::string json;
  bool is_right = false;  // no wrong result, every hit counted, every byte the file's
};

// So many cycles with probes on the C library's functions (all that can be probed, or a hundred at a time).
SoakResult Soak(int cycles);

}  // namespace lagwatch::bench
