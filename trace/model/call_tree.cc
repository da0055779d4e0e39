// SPDX-License-Identifier: Apache-2.0
#include "trace/model/call_tree.h"

#include <algorithm>
#include <limits>

namespace lagwatch::trace {
namespace {

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
