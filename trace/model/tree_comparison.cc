// SPDX-License-Identifier: Apache-2.0
#include "trace/model/tree_comparison.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/model/functions.h"
#include "trace/model/joint_tree.h"

namespace lagwatch::trace {
namespace {

struct Node {
  ComparedNode shown;
  std::map<std::pair<uint64_t, std::string>, size_t> callees;  // indices, by id or, without one, by name
};

class Comparison {
 public:
  Comparison() { nodes_.emplace_back(); }

  void Add(const Trace& trace, ComparedNode::Side ComparedNode::*side) {
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
      std::vector<size_t> path = {0};
      for (const CallNode& call : BuildJointTree(trace, thread, trace.begin_ns, trace.end_ns)) {
        path.resize(std::min<size_t>(path.size(), call.depth + 1));
        path.push_back(CalleeOf(path.back(), trace, trace.frames[call.frame]));
        ComparedNode::Side& sums = nodes_[path.back()].shown.*side;
        sums.calls += call.count;
        sums.total_ns += call.total_ns;
      }
    }
  }

  std::vector<ComparedNode> Take() {
    std::vector<ComparedNode> all;
    Append(0, 0, &all);
    return all;
  }

 private:
  size_t CalleeOf(size_t caller, const Trace& trace, const NamedFrame& frame) {
    std::string name = DisplayName(trace, frame);
    const auto [place, is_new] =
        nodes_[caller].callees.try_emplace({frame.id, frame.id == 0 ? name : ""}, nodes_.size());
    const size_t callee = place->second;
    if (is_new) {
      nodes_.emplace_back();
      nodes_[callee].shown.id = frame.id;
      nodes_[callee].shown.name = std::move(name);
    }
    return callee;
  }

  void Append(size_t caller, uint32_t depth, std::vector<ComparedNode>* all) const {
    std::vector<size_t> callees;
    for (const auto& [key, callee] : nodes_[caller].callees) callees.push_back(callee);
    const auto most_ns = [&](size_t node) {
      return std::max(nodes_[node].shown.before.total_ns, nodes_[node].shown.after.total_ns);
    };
    std::ranges::stable_sort(callees, [&](size_t a, size_t b) { return most_ns(a) > most_ns(b); });
    for (const size_t callee : callees) {
      all->push_back(nodes_[callee].shown);
      all->back().depth = depth;
      Append(callee, depth + 1, all);
    }
  }

  std::vector<Node> nodes_;  // the first is the root of all threads
};

}  // namespace

std::vector<ComparedNode> CompareCallTrees(const Trace& before, const Trace& after) {
  Comparison comparison;
  comparison.Add(before, &ComparedNode::before);
  comparison.Add(after, &ComparedNode::after);
  return comparison.Take();
}

}  // namespace lagwatch::trace
