// SPDX-License-Identifier: Apache-2.0
// The resources that this process uses, as /proc/self says. Context: background.
#pragma once

#include <cstdint>

namespace lagwatch::collector {

// Zero where the system does not say.
struct ProcessUse {
  double cpu_s = 0;
  double start_wall_s = 0;  // since 1970
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t most_fds = 0;

  static ProcessUse OfThis();
};

}  // namespace lagwatch::collector
