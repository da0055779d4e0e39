// SPDX-License-Identifier: Apache-2.0
// The time that a slow dispatch spent, by the calls in it (joint_tree.h builds it): a tree small enough for a
// report, and the path in it that dispatches of the same cause share. After Matrix's TraceDataUtils, except
// for what docs/design/trace_instrument.md says. Pure. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lagwatch::trace {

// A function that was called from its parent, however often.
struct CallNode {
  uint32_t frame = 0;    // index into Trace::frames
  uint32_t depth = 0;    // 0: no recorded caller
  uint32_t count = 1;    // calls
  int64_t total_ns = 0;  // of all of them, with their callees

  bool operator==(const CallNode&) const = default;
};

// Each node is followed by its callees, depth + 1, in the order of time.
using CallTree = std::vector<CallNode>;

struct TrimOptions {
  size_t max_nodes = 30;
  int64_t step_ns = 5'000'000;
  int rounds = 60;
};
// In round n, nodes shorter than n steps are removed, from the end on, until few enough are left; then, if
// necessary, the shortest ones. A node is never removed before its callees.
CallTree TrimCallTree(CallTree tree, const TrimOptions& options = {});

// The functions that the dispatch is about, outermost first: from those that took `min_share` of
// `duration_ns` or more, the path to the one that spent the most itself or in callees too short to count.
// Recursion counts once. Empty if none took so long.
std::vector<uint32_t> HeavyPath(const CallTree& tree, int64_t duration_ns, double min_share = 0.3);

}  // namespace lagwatch::trace
