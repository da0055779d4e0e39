// SPDX-License-Identifier: Apache-2.0
// Compiled with exceptions, other than the rest of this folder.
#include "base/process/run_guarded.h"

namespace lagwatch::base {

void RunGuarded(void (*run)(void*), void* context) noexcept {
  try {
    run(context);
  } catch (...) {
    failure_count.fetch_add(1, std::memory_order_relaxed);  // a statistic
  }
}

}  // namespace lagwatch::base
