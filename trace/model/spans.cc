// SPDX-License-Identifier: Apache-2.0
#include "trace/model/spans.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "trace/model/functions.h"

namespace lagwatch::trace {
namespace {

constexpr int64_t kDefaultIntervalNs = 10'000'000;
// A thread that runs is seen sooner, unless it does not get a processor.
constexpr int64_t kLongestUnseenNs = 1'000'000'000;
// So much the clocks of looks and of dispatches may differ.
constexpr int64_t kClockSlackNs = 100'000;
// So long a thread may take, where it loses its processor, from a dispatch's end until it has noted it.
constexpr int64_t kEndSlackNs = 10'000'000;

std::vector<uint32_t> RunsByBegin(const Thread& thread) {
  std::vector<uint32_t> order(thread.runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t left, uint32_t right) {
    return thread.runs[left].begin_ns < thread.runs[right].begin_ns;
  });
  return order;
}

// Samples taken during a wait belong to it; other overlaps are cut.
std::vector<Span> WithoutOverlaps(const Trace& trace, const Thread& thread) {
  std::vector<Span> spans;
  for (uint32_t index : RunsByBegin(thread)) {
    const Run& run = thread.runs[index];
    if (run.stack >= trace.nodes.size()) continue;
    Span span{.run = index, .count = run.count, .seen_begin_ns = run.begin_ns};
    span.seen_end_ns = std::max(run.begin_ns, run.end_ns);
    span.has_own_leaf = HasOwnLeaf(run);
    if (!spans.empty() && span.seen_begin_ns < spans.back().seen_end_ns) {
      Span& last = spans.back();
      if (run.kind == RunKind::kWaited && thread.runs[last.run].kind != RunKind::kWaited)
        last.seen_end_ns = std::max(last.seen_begin_ns, span.seen_begin_ns);
      if (span.seen_end_ns <= last.seen_end_ns) {
        last.count += span.count;
        continue;
      }
      span.seen_begin_ns = std::max(span.seen_begin_ns, last.seen_end_ns);
    }
    spans.push_back(span);
  }
  return spans;
}

// A dispatch whose times are known, or the time between two of them.
struct Stretch {
  int64_t begin_ns;
  int64_t end_ns;
  bool is_dispatch;
};

class DispatchTimes {
 public:
  explicit DispatchTimes(const std::vector<Dispatch>& dispatches) : dispatches_(dispatches) {
    for (size_t i = 0; i < dispatches.size(); ++i) index_of_.emplace(dispatches[i].id, i);
  }

  // The part of dispatch `id` that a sample of `time_ns` lies in. None if times and ids do not agree, or if
  // none are known.
  std::optional<Stretch> Find(uint32_t id, int64_t time_ns) const {
    const auto found = id == 0 ? index_of_.end() : index_of_.find(id);
    if (found != index_of_.end()) {
      const Dispatch& dispatch = dispatches_[found->second];
      if (dispatch.begin_ns <= time_ns && dispatch.end_ns >= time_ns)
        return Stretch{dispatch.begin_ns, dispatch.end_ns, true};
    }
    if (dispatches_.empty()) return std::nullopt;
    const auto after = std::ranges::lower_bound(dispatches_, time_ns, {}, &Dispatch::begin_ns);
    const int64_t begin_ns = after == dispatches_.begin() ? INT64_MIN : std::prev(after)->end_ns;
    if (begin_ns > time_ns) return std::nullopt;
    return Stretch{begin_ns, after == dispatches_.end() ? INT64_MAX : after->begin_ns, false};
  }
  // `time_ns`, when something of dispatch `id` was seen, or as little before or after as makes it agree with
  // the dispatches' own times.
  int64_t Agreeing(uint32_t id, int64_t time_ns) const {
    const auto is_near = [time_ns](int64_t other_ns) {
      return other_ns > time_ns - kClockSlackNs && other_ns < time_ns + kClockSlackNs;
    };
    if (const auto found = index_of_.find(id); id != 0 && found != index_of_.end()) {
      const Dispatch& dispatch = dispatches_[found->second];
      const int64_t within_ns = std::clamp(time_ns, dispatch.begin_ns, dispatch.end_ns);
      const bool is_just_over =
          time_ns > dispatch.end_ns && time_ns < dispatch.end_ns + kEndSlackNs &&
          (found->second + 1 == dispatches_.size() || time_ns < dispatches_[found->second + 1].begin_ns);
      return is_just_over || is_near(within_ns) ? within_ns : time_ns;
    }
    const auto after = std::ranges::upper_bound(dispatches_, time_ns, {}, &Dispatch::begin_ns);
    if (after == dispatches_.begin() || std::prev(after)->end_ns <= time_ns) return time_ns;
    const Dispatch& other = *std::prev(after);
    if (is_near(other.begin_ns)) return other.begin_ns;
    return is_near(other.end_ns) ? other.end_ns : time_ns;
  }
  // Until when `id` can have gone on at most, after something of it was seen at `time_ns`.
  int64_t EndOf(uint32_t id, int64_t time_ns) const {
    const auto stretch = Find(id, time_ns);
    if (stretch && stretch->is_dispatch) return stretch->end_ns;
    auto next = std::ranges::lower_bound(dispatches_, time_ns, {}, &Dispatch::begin_ns);
    for (; next != dispatches_.end(); ++next)
      if (id == 0 || next->id != id) return next->begin_ns;
    return INT64_MAX;
  }

 private:
  const std::vector<Dispatch>& dispatches_;
  std::unordered_map<uint32_t, size_t> index_of_;
};

// The number of outermost functions that two stacks have in common, without their own leaves.
class SharedDepths {
 public:
  SharedDepths(const Trace& trace, const std::vector<uint32_t>& functions)
      : trace_(trace), functions_(functions) {}

  uint32_t DepthOf(const Run& run) {
    FindPath(trace_.nodes, trace_.frames.size(), run.stack, &path_);
    return static_cast<uint32_t>(path_.size() - OwnLeaves(run, path_));
  }
  uint32_t Of(const Run& run, const Run& next) {
    FindPath(trace_.nodes, trace_.frames.size(), run.stack, &path_);
    FindPath(trace_.nodes, trace_.frames.size(), next.stack, &next_path_);
    const size_t most =
        std::min(path_.size() - OwnLeaves(run, path_), next_path_.size() - OwnLeaves(next, next_path_));
    uint32_t depth = 0;
    while (depth < most && FunctionAt(path_[depth]) == FunctionAt(next_path_[depth])) ++depth;
    return depth;
  }

 private:
  static size_t OwnLeaves(const Run& run, const std::vector<uint32_t>& path) {
    return HasOwnLeaf(run) && !path.empty() ? 1 : 0;
  }
  uint32_t FunctionAt(uint32_t node) const { return functions_[trace_.nodes[node].frame]; }

  const Trace& trace_;
  const std::vector<uint32_t>& functions_;
  std::vector<uint32_t> path_;
  std::vector<uint32_t> next_path_;
};

// The time when the stack of one sample was replaced by that of the next, if the thread is known to have had
// a processor or to have waited for one in between: samplers see sleeping threads at each interval, and did
// not see this one asleep. So a thread that waits for a processor does not disappear.
std::optional<int64_t> Change(const Run& last, int64_t last_ns, const Run& next, int64_t next_ns,
                              int64_t interval_ns) {
  if ((!last.is_running && !next.is_running) || last.dispatch != next.dispatch ||
      next_ns - last_ns > kLongestUnseenNs)
    return std::nullopt;
  if (next.kind != RunKind::kSampled || last.kind == RunKind::kCaptured || last.kind == RunKind::kWoke)
    return next_ns;
  if (last.kind == RunKind::kWaited) return last_ns;
  const int64_t middle_ns = std::midpoint(last_ns, next_ns);
  if (!last.is_running) return std::min(middle_ns, last_ns + interval_ns / 2);
  if (!next.is_running) return std::max(middle_ns, next_ns - interval_ns / 2);
  return middle_ns;
}

bool IsPoll(const Run& run) { return run.kind == RunKind::kWaited && run.call == CallKind::kPoll; }

// Samples of samplers and dispatches have different clocks.
void MakeAgree(const Thread& thread, const DispatchTimes& dispatches, std::vector<Span>* spans) {
  int64_t least_ns = INT64_MIN;
  for (Span& span : *spans) {
    const Run& run = thread.runs[span.run];
    if (run.kind == RunKind::kSampled) {
      span.seen_begin_ns = dispatches.Agreeing(run.dispatch, span.seen_begin_ns);
      span.seen_end_ns = dispatches.Agreeing(run.dispatch, span.seen_end_ns);
    }
    span.seen_begin_ns = std::max(span.seen_begin_ns, least_ns);
    span.seen_end_ns = std::max(span.seen_end_ns, span.seen_begin_ns);
    least_ns = span.seen_end_ns;
  }
}

// Of dispatches shorter than an interval, looks meet one in so many; that one stands for the others. Without
// this a loop of short dispatches would seem to do next to nothing. So do the pauses between them.
void WeighSpans(const Thread& thread, const DispatchTimes& dispatches, int64_t interval_ns,
                std::vector<Span>* spans) {
  for (size_t i = 0; i < spans->size(); ++i) {
    Span& span = (*spans)[i];
    span.weight_ns = span.end_ns - span.begin_ns;
    const Run& run = thread.runs[span.run];
    if (run.kind != RunKind::kSampled || span.count != 1) continue;
    const auto stretch = dispatches.Find(run.dispatch, span.seen_begin_ns);
    const bool is_short = stretch && stretch->begin_ns > stretch->end_ns - interval_ns;
    const bool is_alone = is_short && (i == 0 || (*spans)[i - 1].seen_end_ns <= stretch->begin_ns) &&
                          (i + 1 == spans->size() || (*spans)[i + 1].seen_begin_ns >= stretch->end_ns);
    if (is_alone) span.weight_ns = std::max(span.weight_ns, interval_ns);
  }
}

// The known facts around a sample.
struct Around {
  int64_t reach_ns = 0;  // so long before it there was no other look, in its turn or dispatch
  bool lasts = false;    // until the next one begins, whenever that is
};

// The begins of spans, in order.
std::vector<Around> FindBegins(const Thread& thread, const DispatchTimes& dispatches, int64_t interval_ns,
                               int64_t extension_ns, std::vector<Span>* spans) {
  std::vector<Around> all(spans->size());
  bool is_in_turn = false;
  for (size_t i = 0; i < spans->size(); ++i) {
    Span& span = (*spans)[i];
    const Run& run = thread.runs[span.run];
    span.begin_ns = span.seen_begin_ns;
    const Run* before = i == 0 ? nullptr : &thread.runs[(*spans)[i - 1].run];
    const int64_t last_ns = i == 0 ? INT64_MIN : (*spans)[i - 1].seen_end_ns;
    const auto stretch = dispatches.Find(run.dispatch, span.seen_begin_ns);
    // Between two polls lies a turn of a loop that is not watched. Nothing is cut there: the loop goes on.
    const bool was_in_turn = std::exchange(is_in_turn, is_in_turn || IsPoll(run));
    const bool is_in_turn_now = !stretch && was_in_turn && !IsPoll(run);
    const int64_t since_ns = stretch ? std::max(stretch->begin_ns, last_ns) : last_ns;
    // The first look stands for all since its dispatch or turn began, as the last one does until its end.
    const bool is_first =
        stretch ? last_ns <= stretch->begin_ns || (stretch->is_dispatch && before->dispatch != run.dispatch)
                : is_in_turn_now && IsPoll(*before);
    const int64_t longest_ns = run.is_running ? kLongestUnseenNs : extension_ns;
    if ((stretch || is_in_turn_now) && since_ns >= span.seen_begin_ns - longest_ns)
      all[i].reach_ns = span.seen_begin_ns - since_ns;
    all[i].lasts = run.is_running && stretch && stretch->is_dispatch;
    if (before != nullptr && !is_first) {
      const auto change_ns = Change(*before, last_ns, run, span.seen_begin_ns, interval_ns);
      all[i - 1].lasts = change_ns.has_value();
      if (change_ns.has_value()) {
        span.begin_ns = *change_ns;
        continue;
      }
    }
    span.begin_ns -= is_first ? all[i].reach_ns : all[i].reach_ns / 2;
  }
  return all;
}

void Clip(std::vector<Span>* spans, int64_t from_ns, int64_t until_ns) {
  std::erase_if(*spans, [&](const Span& span) { return span.end_ns < from_ns || span.begin_ns >= until_ns; });
  for (Span& span : *spans) {
    const int64_t whole_ns = span.end_ns - span.begin_ns;
    for (int64_t* time_ns : {&span.begin_ns, &span.seen_begin_ns, &span.seen_end_ns, &span.end_ns})
      *time_ns = std::clamp(*time_ns, from_ns, until_ns);
    span.weight_ns = std::max<int64_t>(span.weight_ns - (whole_ns - (span.end_ns - span.begin_ns)), 0);
    span.gap_ns = std::min(span.gap_ns, span.end_ns - span.seen_end_ns);
  }
}

}  // namespace

bool HasOwnLeaf(const Run& run) {
  if (run.kind == RunKind::kSampled) return false;
  return run.kind == RunKind::kWaited || (run.call != CallKind::kNone && run.call != CallKind::kUser);
}

std::vector<Span> FindSpans(const Trace& trace, const Thread& thread, const std::vector<uint32_t>& functions,
                            const SliceOptions& options) {
  const int64_t interval_ns = trace.sample_interval_ns > 0 ? trace.sample_interval_ns : kDefaultIntervalNs;
  const int64_t extension_ns = options.extension_ns > 0 ? options.extension_ns : interval_ns * 3 / 2;
  const DispatchTimes dispatches(thread.dispatches);
  SharedDepths shared(trace, functions);
  std::vector<Span> spans = WithoutOverlaps(trace, thread);
  MakeAgree(thread, dispatches, &spans);
  const std::vector<Around> around = FindBegins(thread, dispatches, interval_ns, extension_ns, &spans);
  const auto dispatch_of = [&](const Span& span) { return thread.runs[span.run].dispatch; };
  for (size_t i = 0; i < spans.size(); ++i) {
    Span& span = spans[i];
    const bool is_last = i + 1 == spans.size();
    const int64_t limit_ns = is_last ? std::max(trace.end_ns, span.seen_end_ns) : spans[i + 1].begin_ns;
    const int64_t longest_ns = around[i].lasts ? kLongestUnseenNs : extension_ns;
    span.end_ns = std::min(
        {limit_ns, span.seen_end_ns + longest_ns, dispatches.EndOf(dispatch_of(span), span.seen_end_ns)});
    span.gap_ns = std::max<int64_t>(span.end_ns - span.seen_end_ns - interval_ns, 0);
    if (!is_last)
      spans[i + 1].follows =
          span.end_ns == spans[i + 1].begin_ns && dispatch_of(span) == dispatch_of(spans[i + 1]);
    const Run& run = thread.runs[span.run];
    if (run.kind == RunKind::kSampled) continue;
    if (run.kind == RunKind::kCaptured && span.end_ns - span.seen_end_ns <= around[i].reach_ns) {
      span.lasting_depth = shared.DepthOf(run);
      continue;
    }
    span.lasting_depth = is_last || !spans[i + 1].follows ? 0 : shared.Of(run, thread.runs[spans[i + 1].run]);
    if (span.lasting_depth != 0) continue;
    span.end_ns = span.seen_end_ns;
    span.gap_ns = 0;
    if (!is_last) spans[i + 1].follows &= span.end_ns == spans[i + 1].begin_ns;
  }
  WeighSpans(thread, dispatches, interval_ns, &spans);
  Clip(&spans, options.from_ns, options.until_ns);
  return spans;
}

}  // namespace lagwatch::trace
