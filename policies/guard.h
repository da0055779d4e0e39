// SPDX-License-Identifier: Apache-2.0
// What made time pass for the machine, the process or the watchdog that must not be blamed on the program.
// Context: watchdog; pure.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

struct GuardFindings {
  int64_t suspended_ns = 0;  // the machine slept
  int64_t stopped_ns = 0;    // the process did not run: SIGSTOP, a frozen control group, a debugger
  int64_t late_ns = 0;       // the watchdog itself woke so much later than it wanted to
  int32_t debugger_pid = 0;  // who traces the process; 0: nobody

  bool operator==(const GuardFindings&) const = default;
  bool is_clean() const { return *this == GuardFindings{}; }
};

}  // namespace lagwatch::policies
