// SPDX-License-Identifier: Apache-2.0
#include "trace/model/joint_tree.h"

#include <algorithm>
#include <span>
#include <vector>

#include "trace/model/functions.h"
#include "trace/model/slices.h"

namespace lagwatch::trace {
namespace {

// Calls of the functions on the sampled stacks, derived from the thread's slices. Frames without a place in
// the code are left out, such as the hooked call that a thread captured its stack in.
std::vector<CallEvent> CallsOfSamples(const Trace& trace, uint32_t thread,
                                      const std::vector<uint32_t>& functions) {
  std::vector<uint32_t> first_frames(trace.frames.size(), kNoIndex);  // by function
  const Track track = BuildSampledTrack(trace, thread, functions);
  std::vector<CallEvent> calls;
  auto add = [&](uint32_t slice, int64_t time_ns, bool is_enter) {
    const uint32_t frame = track.slices[slice].frame;
    if (trace.frames[frame].module == kNoIndex) return;
    uint32_t& first = first_frames[functions[frame]];
    if (first == kNoIndex) first = frame;
    calls.push_back({time_ns, first, is_enter});
  };
  WalkTrack(
      track, [&](uint32_t slice) { add(slice, track.slices[slice].begin_ns, true); },
      [&](uint32_t slice) { add(slice, track.slices[slice].end_ns, false); });
  return calls;
}

// Takes the outermost functions off that have one callee each, which takes nearly all of their time; and what
// else there is beside them, which is little.
CallTree WithoutStem(const CallTree& tree, size_t kept) {
  constexpr int64_t kPercent = 95;
  int64_t covered_ns = 0;
  for (const CallNode& node : tree)
    if (node.depth == 0) covered_ns += node.total_ns;
  const auto longest = std::ranges::max_element(
      tree, {}, [](const CallNode& node) { return node.depth == 0 ? node.total_ns : -1; });
  if (longest == tree.end() || longest->total_ns < covered_ns / 100 * kPercent) return tree;
  auto is_root = [](const CallNode& node) { return node.depth == 0; };
  const std::span<const CallNode> whole(longest, std::find_if(longest + 1, tree.end(), is_root));
  // Of the stem's nodes the longest child, with what it called.
  size_t at = 0;
  size_t end = whole.size();
  std::vector<size_t> stem;
  for (;;) {
    size_t child = end;
    for (size_t i = at + 1; i < end; ++i) {
      const bool is_child = whole[i].depth == whole[at].depth + 1;
      if (is_child && whole[i].total_ns >= whole[at].total_ns / 100 * kPercent) child = i;
    }
    if (child == end) break;
    stem.push_back(at);
    at = child;
    for (size_t i = child + 1; i < end; ++i)
      if (whole[i].depth <= whole[child].depth) end = i;
  }
  const size_t first = stem.size() > kept ? stem[stem.size() - kept] : 0;
  CallTree rest;
  for (size_t i = first; i < whole.size() && (i == first || whole[i].depth > whole[first].depth); ++i) {
    rest.push_back(whole[i]);
    rest.back().depth -= whole[first].depth;
  }
  return rest;
}

// The functions that are open, of one of the two sources.
class OpenCalls {
 public:
  void Take(const CallEvent& event) {
    if (event.is_enter) return frames_.push_back(event.frame);
    const auto entered = std::find(frames_.rbegin(), frames_.rend(), event.frame);
    // Without it, its callees are unknown, too. Those above it were left by an exception.
    if (entered != frames_.rend()) frames_.erase(std::prev(entered.base()), frames_.end());
  }
  std::span<const uint32_t> frames() const { return frames_; }

 private:
  std::vector<uint32_t> frames_;  // outermost first
};

class JointTreeBuilder {
 public:
  // Sampled functions that took less than `min_sampled_ns` are left out: their callers have that time.
  JointTreeBuilder(std::span<const uint32_t> functions, int64_t min_sampled_ns, size_t max_stem)
      : functions_(functions), min_sampled_ns_(min_sampled_ns), max_stem_(max_stem), nodes_(1) {}

  void Take(const CallEvent& event, bool is_sampled) {
    (is_sampled ? samples_ : calls_).Take(event);
    if (event.is_enter && !is_sampled && has_begun_) ++nodes_[NodeOfCalls()].node.count;
  }

  // The interval begins: recorded calls that are under way count, and so do those from now on.
  void Begin() {
    has_begun_ = true;
    uint32_t node = 0;
    for (const uint32_t frame : calls_.frames()) {
      node = ChildOf(node, frame, false);
      ++nodes_[node].node.count;
    }
  }

  // The thread spent so long in what is open now.
  void Spend(int64_t time_ns) {
    if (time_ns <= 0 || (calls_.frames().empty() && samples_.frames().empty())) return;
    uint32_t node = NodeOfCalls();
    std::span<const uint32_t> inner = samples_.frames();
    if (!calls_.frames().empty()) {
      const auto same = [&](uint32_t frame) {
        return functions_[frame] == functions_[calls_.frames().back()];
      };
      const auto known = std::find_if(inner.rbegin(), inner.rend(), same);
      if (known != inner.rend()) {
        inner = inner.last(static_cast<size_t>(known - inner.rbegin()));
        nodes_[node].is_on_stack = true;
      }
    }
    for (const uint32_t frame : inner) node = ChildOf(node, frame, true);
    nodes_[node].node.total_ns += time_ns;  // its own, up to Finish()
  }

  CallTree Finish() {
    int64_t total_ns = 0;
    return TreeBelow(0, 0, &total_ns);
  }

 private:
  struct Node {
    CallNode node{.count = 0};
    bool is_sampled = false;
    bool is_on_stack = false;  // a recorded function that samples saw
    std::vector<uint32_t> children;
  };

  uint32_t NodeOfCalls() {
    uint32_t node = 0;
    for (const uint32_t frame : calls_.frames()) node = ChildOf(node, frame, false);
    return node;
  }

  uint32_t ChildOf(uint32_t parent, uint32_t frame, bool is_sampled) {
    for (const uint32_t child : nodes_[parent].children)
      if (nodes_[child].node.frame == frame && nodes_[child].is_sampled == is_sampled) return child;
    const auto added = static_cast<uint32_t>(nodes_.size());
    nodes_[parent].children.push_back(added);
    nodes_.push_back({.node = {.frame = frame, .count = 0}, .is_sampled = is_sampled, .children = {}});
    return added;
  }

  // The callees of `parent`, at `depth`, and theirs; `callees_ns` is the time of all of them.
  CallTree TreeBelow(uint32_t parent, uint32_t depth, int64_t* callees_ns) const {
    CallTree calls;
    CallTree samples;
    for (const uint32_t child : nodes_[parent].children) {
      int64_t total_ns = 0;
      const CallTree inner = TreeBelow(child, depth + 1, &total_ns);
      CallNode node = nodes_[child].node;
      node.depth = depth;
      node.total_ns += total_ns;
      *callees_ns += node.total_ns;
      if (nodes_[child].is_sampled && node.total_ns < min_sampled_ns_) continue;
      CallTree& tree = nodes_[child].is_sampled ? samples : calls;
      tree.push_back(node);
      tree.insert(tree.end(), inner.begin(), inner.end());
    }
    if (!nodes_[parent].is_sampled && !nodes_[parent].is_on_stack && !samples.empty())
      samples = ShortenedAt(samples, depth);
    calls.insert(calls.end(), samples.begin(), samples.end());
    return calls;
  }

  CallTree ShortenedAt(CallTree tree, uint32_t depth) const {
    for (CallNode& node : tree) node.depth -= depth;
    tree = WithoutStem(tree, max_stem_);
    for (CallNode& node : tree) node.depth += depth;
    return tree;
  }

  std::span<const uint32_t> functions_;  // by frame
  int64_t min_sampled_ns_;
  size_t max_stem_;
  std::vector<Node> nodes_;  // the first one stands for the caller of the outermost functions
  OpenCalls calls_;
  OpenCalls samples_;
  bool has_begun_ = false;
};

}  // namespace

CallTree BuildJointTree(const Trace& trace, uint32_t thread, int64_t begin_ns, int64_t end_ns,
                        size_t max_stem) {
  const std::vector<uint32_t> functions = FunctionNumbers(trace);
  const std::vector<CallEvent> sampled = CallsOfSamples(trace, thread, functions);
  const std::vector<CallEvent>& calls = trace.threads[thread].calls;
  JointTreeBuilder builder(functions, trace.sample_interval_ns / 2, max_stem);
  int64_t time_ns = begin_ns;
  bool has_begun = false;
  auto begin = [&] {
    if (!has_begun) builder.Begin();
    has_begun = true;
  };
  size_t next_sampled = 0;
  size_t next_call = 0;
  while (next_sampled < sampled.size() || next_call < calls.size()) {
    const bool is_sampled =
        next_call == calls.size() ||
        (next_sampled < sampled.size() && sampled[next_sampled].time_ns <= calls[next_call].time_ns);
    const CallEvent& event = is_sampled ? sampled[next_sampled++] : calls[next_call++];
    if (event.time_ns > end_ns) break;
    if (event.time_ns >= begin_ns) begin();
    builder.Spend(event.time_ns - time_ns);
    time_ns = std::max(time_ns, event.time_ns);
    builder.Take(event, is_sampled);
  }
  begin();
  builder.Spend(end_ns - time_ns);
  return builder.Finish();
}

}  // namespace lagwatch::trace
