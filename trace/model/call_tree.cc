// SPDX-License-Identifier: Apache-2.0
#include "trace/model/call_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lagwatch::trace {
namespace {

// Nodes refer to each other while the tree grows; where they stand says nothing yet.
class TreeBuilder {
 public:
  explicit TreeBuilder(int64_t begin_ns) : begin_ns_(begin_ns) {}

  void Enter(uint32_t frame, int64_t time_ns) {
    const uint32_t parent = open_.empty() ? kNoIndex : open_.back().node;
    std::vector<uint32_t>& siblings = parent == kNoIndex ? roots_ : nodes_[parent].children;
    const bool repeats = !siblings.empty() && nodes_[siblings.back()].node.frame == frame;
    if (repeats) {
      ++nodes_[siblings.back()].node.count;
      open_.push_back({siblings.back(), time_ns});
      return;
    }
    const auto added = static_cast<uint32_t>(nodes_.size());
    siblings.push_back(added);
    nodes_.push_back(
        {.node = {.frame = frame, .depth = static_cast<uint32_t>(open_.size())}, .children = {}});
    open_.push_back({added, time_ns});
  }

  // Also ends its callees that were not left.
  void Exit(uint32_t frame, int64_t time_ns) {
    const auto is_it = [&](const Open& open) { return nodes_[open.node].node.frame == frame; };
    if (std::none_of(open_.begin(), open_.end(), is_it)) return;
    while (!is_it(open_.back())) Close(time_ns);
    Close(time_ns);
  }

  CallTree Finish(int64_t end_ns) {
    while (!open_.empty()) Close(end_ns);
    CallTree tree;
    std::vector<uint32_t> next(roots_.rbegin(), roots_.rend());
    while (!next.empty()) {
      const Node& node = nodes_[next.back()];
      next.pop_back();
      tree.push_back(node.node);
      next.insert(next.end(), node.children.rbegin(), node.children.rend());
    }
    return tree;
  }

 private:
  struct Node {
    CallNode node;
    std::vector<uint32_t> children;
  };
  struct Open {
    uint32_t node;
    int64_t since_ns;
  };

  void Close(int64_t time_ns) {
    nodes_[open_.back().node].node.total_ns +=
        std::max<int64_t>(time_ns - std::max(open_.back().since_ns, begin_ns_), 0);
    open_.pop_back();
  }

  int64_t begin_ns_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;
  std::vector<Open> open_;
};

// The calls that were under way at `begin_ns`, outermost first, from events before it.
std::vector<CallEvent> OpenAt(std::span<const CallEvent> before) {
  std::vector<CallEvent> open;
  for (const CallEvent& call : before) {
    if (call.is_enter) {
      open.push_back(call);
      continue;
    }
    const auto entered = std::find_if(open.rbegin(), open.rend(),
                                      [&](const CallEvent& event) { return event.frame == call.frame; });
    if (entered != open.rend()) open.erase(std::prev(entered.base()), open.end());
  }
  return open;
}

// Removes nodes for which `goes` says so, from the end, as long as there are more than `max_nodes`.
template <typename Goes>
void RemoveFromEnd(CallTree* tree, size_t max_nodes, Goes goes) {
  size_t left = tree->size();
  std::vector<bool> is_gone(tree->size());
  uint32_t kept_depth = 0;  // of the last kept node; a parent stays as long as something below it does
  for (size_t i = tree->size(); i-- > 0 && left > max_nodes;) {
    const bool is_parent = kept_depth > (*tree)[i].depth;
    if (!is_parent && goes((*tree)[i])) {
      is_gone[i] = true;
      --left;
    } else {
      kept_depth = (*tree)[i].depth;
    }
  }
  size_t at = 0;
  std::erase_if(*tree, [&](const CallNode&) { return static_cast<bool>(is_gone[at++]); });
}

int64_t SelfNs(const CallTree& tree, size_t node, int64_t min_child_ns) {
  int64_t self_ns = tree[node].total_ns;
  for (size_t i = node + 1; i < tree.size() && tree[i].depth > tree[node].depth; ++i)
    if (tree[i].depth == tree[node].depth + 1 && tree[i].total_ns >= min_child_ns)
      self_ns -= tree[i].total_ns;
  return self_ns;
}

}  // namespace

CallTree BuildCallTree(std::span<const CallEvent> calls, int64_t begin_ns, int64_t end_ns) {
  const auto first = std::partition_point(calls.begin(), calls.end(),
                                          [&](const CallEvent& call) { return call.time_ns < begin_ns; });
  const auto last =
      std::partition_point(first, calls.end(), [&](const CallEvent& call) { return call.time_ns <= end_ns; });
  TreeBuilder builder(begin_ns);
  for (const CallEvent& call : OpenAt({calls.begin(), first})) builder.Enter(call.frame, begin_ns);
  for (auto call = first; call != last; ++call)
    call->is_enter ? builder.Enter(call->frame, call->time_ns) : builder.Exit(call->frame, call->time_ns);
  return builder.Finish(end_ns);
}

CallTree TrimCallTree(CallTree tree, const TrimOptions& options) {
  for (int round = 1; round <= options.rounds && tree.size() > options.max_nodes; ++round)
    RemoveFromEnd(&tree, options.max_nodes,
                  [&](const CallNode& node) { return node.total_ns < round * options.step_ns; });
  if (tree.size() <= options.max_nodes) return tree;
  // A node is as long as its callees, or longer: the shortest that may stay.
  std::vector<int64_t> totals_ns;
  for (const CallNode& node : tree) totals_ns.push_back(node.total_ns);
  std::nth_element(totals_ns.begin(), totals_ns.begin() + static_cast<ptrdiff_t>(options.max_nodes),
                   totals_ns.end(), std::greater<>());
  const int64_t limit_ns =
      options.max_nodes == 0 ? std::numeric_limits<int64_t>::max() : totals_ns[options.max_nodes];
  RemoveFromEnd(&tree, options.max_nodes, [&](const CallNode& node) { return node.total_ns <= limit_ns; });
  if (tree.size() > options.max_nodes) tree.resize(options.max_nodes);
  return tree;
}

std::vector<uint32_t> HeavyPath(const CallTree& tree, int64_t duration_ns, double min_share) {
  // Not std::llround(), which would be the only reason to load libm into a watched program.
  const auto rounded_ns = static_cast<int64_t>(static_cast<double>(duration_ns) * min_share + 0.5);
  const auto min_ns = std::max<int64_t>(1, rounded_ns);
  size_t heaviest = tree.size();
  int64_t heaviest_ns = -1;
  for (size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].total_ns < min_ns) continue;
    const int64_t self_ns = SelfNs(tree, i, min_ns);
    if (self_ns <= heaviest_ns) continue;
    heaviest = i;
    heaviest_ns = self_ns;
  }
  std::vector<uint32_t> path;
  if (heaviest == tree.size()) return path;
  uint32_t depth = tree[heaviest].depth + 1;
  for (size_t i = heaviest + 1; i-- > 0 && depth > 0;) {
    if (tree[i].depth >= depth) continue;
    depth = tree[i].depth;
    if (path.empty() || path.back() != tree[i].frame) path.push_back(tree[i].frame);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace lagwatch::trace
