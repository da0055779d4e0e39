// SPDX-License-Identifier: Apache-2.0
#include <gnu/libc-version.h>

#include <string_view>

#include "base/process/proc_file.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

bool CanRepeatCancellableCalls() {
#if defined(__x86_64__)
  constexpr uint64_t kFirstMinorVersionWithout = 41;
  std::string_view version = gnu_get_libc_version();
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!base::ConsumeDecimal(&version, &major) || version.empty()) return false;
  version.remove_prefix(1);  // '.'
  return base::ConsumeDecimal(&version, &minor) && major == 2 && minor < kFirstMinorVersionWithout;
#else
  return false;
#endif
}

}  // namespace lagwatch::stack
