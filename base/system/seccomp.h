// SPDX-License-Identifier: Apache-2.0
// Reads which seccomp filters confine a thread, and remembers that the process has confined itself.
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

// Whether the process has stopped lagwatch and confined itself in a way that may not know lagwatch's
// system calls: from then on no hook and no fork handler makes any. Forked children inherit it.
// Context: any, signal.
bool IsConfined();
void SetConfined(bool is_confined);

}  // namespace lagwatch::base
