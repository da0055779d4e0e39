// SPDX-License-Identifier: Apache-2.0
// Two recordings of a program, call by call: of different builds, too, as functions have the same ids in both
// (StableFunctionId). Pure. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

// A function as it is called from its parent, in all threads of either recording.
struct ComparedNode {
  struct Side {
    uint64_t calls = 0;    // 0: it was not recorded, but sampled at most
    int64_t total_ns = 0;  // with its callees
  };

  uint32_t depth = 0;  // 0: no recorded caller
  uint64_t id = 0;     // StableFunctionId(); 0: unknown, and it is known by its name
  std::string name;    // as people read it
  Side before;
  Side after;
};

// Each node is followed by its callees, depth + 1, those of the most time in either first.
std::vector<ComparedNode> CompareCallTrees(const Trace& before, const Trace& after);

}  // namespace lagwatch::trace
