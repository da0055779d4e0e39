// SPDX-License-Identifier: Apache-2.0
// Reports a freeze that a program is in when it is attached to: its loop comes to no wait that would be seen
// from within. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tools/run/watch_flags.h"

namespace lagwatch::tools {

struct FrozenProgram {
  int64_t frozen_ns = 0;  // so long at least; 0: it is not, as far as is known
  bool is_reported = false;
};

// Looks at the program from outside, and writes a report into the spool directory of `flags` if it has been
// frozen for the threshold, in a lock or for a disk. `threads` as for `lagwatch watch`. Another user's spool
// is left alone.
FrozenProgram ReportIfFrozen(pid_t pid, const WatchFlags& flags, const std::string& threads);

}  // namespace lagwatch::tools
