// SPDX-License-Identifier: Apache-2.0
// The time that a dispatch spent, by recorded calls and, below these, by the functions that samples of the
// thread saw meanwhile. Pure. Context: background.
#pragma once

#include <cstdint>

#include "trace/model/call_tree.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// A tree with one node for each function that a node called. Nodes of recorded
// calls have their numbers; those of samples have a count of 0, and their times are estimated.
//
// A sampled stack holds functions that were entered before the recorded call, too. Below the call of a
// recorded function that the stack has, only the functions that it called are kept. Below a part that the
// program named, and beside all calls, the outermost functions are left out that only lead to the others:
// those that have one callee each, which takes nearly all of their time, except for the innermost `max_stem`
// of them.
//
// `thread` is an index into trace.threads.
CallTree BuildJointTree(const Trace& trace, uint32_t thread, int64_t begin_ns, int64_t end_ns,
                        size_t max_stem = 3);

}  // namespace lagwatch::trace
