// SPDX-License-Identifier: Apache-2.0
// Folds the threads of a process that do the same, so that hundreds of them can be read. Context: background;
// pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/moment/process_moment.h"
#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// Threads that do the same: their stacks are identical by function.
struct ThreadGroup {
  std::vector<int64_t> tids;
  std::vector<std::string> names;  // without repetition
  std::string doing;               // "waiting for work", "computing" …
  std::vector<std::string> stack;  // functions, the innermost first; may be empty
  bool is_idle = false;
};

// The threads of `report`, without the one that matters: those that do not idle first, greater groups before
// smaller ones.
std::vector<ThreadGroup> GroupThreads(const sdk::ProcessMoment& moment, const Json& report);

}  // namespace lagwatch::tools
