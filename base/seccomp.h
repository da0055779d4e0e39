// SPDX-License-Identifier: Apache-2.0
// Reads which seccomp filters confine a thread.
#pragma once

#include <cstdint>

namespace lagwatch::base {

struct SeccompState {
  bool is_known = false;  // false: /proc is not available, or the kernel reports nothing
  uint32_t filters = 0;   // at least 1 where the thread is confined

  bool operator==(const SeccompState&) const = default;
};

// Of the calling thread: three system calls, of kinds that the loader makes before main(). Context: watchdog.
SeccompState ReadSeccomp();
// The same for another file of the format of /proc/PID/status.
SeccompState ReadSeccompOf(const char* status_path);

}  // namespace lagwatch::base
