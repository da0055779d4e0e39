// SPDX-License-Identifier: Apache-2.0
#include "watchdog/sample_ring.h"

#include <algorithm>

namespace lagwatch::watchdog {

bool SampleRing::TryTakeRoom(const WatchTools& tools) {
  if (room_ == nullptr && tools.rings != nullptr) room_ = tools.rings->Take();
  return room_ != nullptr;
}

LoopSample* SampleRing::Next(int64_t now_ns, const WatchTools& tools) {
  if (!TryTakeRoom(tools)) return nullptr;
  LoopSample& sample = At(count_, tools);
  sample.mono_ns = now_ns;
  return &sample;
}

void SampleRing::Take(const WatchedLoop& loop, int64_t now_ns, bool is_needed_now, const WatchTools& tools) {
  next_sample_ns_ = now_ns + tools.options->sample_interval_ns;
  const int32_t tid = loop.tid.load();
  // Before the capture, which may keep the thread busy.
  const ThreadTime::Moment moment = time_->ReadMoment(tools.thread(tid));
  // Between two readings of the thread's CPU clock, of which the second is to show that it has run on.
  Collect(loop, tools);
  if (tools.has_ended()) {
    AddWithoutStack(stack::NoStackReason::kLate, {}, now_ns, tools);
    return;
  }
  LoopSample* sample = Next(now_ns, tools);
  if (sample == nullptr) return;
  const int64_t cpu_ns = moment.look.use.cpu_ns;
  if (moment.has_run_on && !is_needed_now) {
    tools.capturer->BeginCapture(tid, cpu_ns, &sample->stack, &sample->no_stack_reason);
  } else {
    tools.capturer->Capture(tid, &sample->stack, moment.has_run_on ? cpu_ns : stack::StackCapturer::kUnread);
    sample->no_stack_reason = tools.capturer->no_stack_reason();
  }
  is_outstanding_ = true;
  const bool is_counted = moment.is_known && spans_->IsAnyGoingOn(loop);
  sample->use = is_counted ? time_->Add(tools.thread(tid), moment.look) : policies::ThreadUse{};
  if (is_needed_now) Collect(loop, tools);
}

void SampleRing::Collect(const WatchedLoop& loop, const WatchTools& tools) {
  if (!std::exchange(is_outstanding_, false)) return;
  tools.capturer->Collect();
  // A later stack must not be blamed for it. Spans that go on may be blamed: the others' check verifies once
  // more whether they do.
  if (!spans_->IsAnyGoingOn(loop)) return tools.counters->samples_discarded.Add();
  tools.counters->samples.Add();
  ++count_;
}

const LoopSample* SampleRing::AddWithoutStack(stack::NoStackReason reason, const policies::ThreadUse& use,
                                              int64_t now_ns, const WatchTools& tools) {
  LoopSample* sample = Next(now_ns, tools);
  if (sample == nullptr) return nullptr;
  sample->stack.Clear();
  sample->no_stack_reason = reason;
  sample->use = use;
  ++count_;
  return sample;
}

SampleList SampleRing::From(uint64_t first, const WatchTools& tools) const {
  const auto ring_size = static_cast<uint64_t>(tools.options->ring_size);
  SampleList samples;
  for (uint64_t i = count_ - std::min(count_ - first, ring_size); i < count_; ++i) samples.Add(&At(i, tools));
  return samples;
}

const LoopSample& PickExpensiveSample(std::span<const LoopSample* const> samples,
                                      policies::ExpensiveStackRule rule) {
  const LoopSample* captured[WatchOptions::kMaxRingSize];
  uint64_t innermost[WatchOptions::kMaxRingSize];
  size_t indices[WatchOptions::kMaxRingSize];
  size_t count = 0;
  for (const LoopSample* sample : samples) {
    if (sample->stack.frame_count == 0) continue;
    captured[count] = sample;
    innermost[count] = sample->stack.InnermostFunctionHash();
    indices[count] = count;
    ++count;
  }
  if (count == 0) return *samples.back();
  if (rule == policies::ExpensiveStackRule::kLeaf)
    return *captured[policies::PickExpensiveLeaf({innermost, count})];
  auto function_at = [&](size_t sample, size_t depth) -> uint64_t {
    const auto frames = captured[sample]->stack.view();
    return depth < frames.size() ? frames[frames.size() - 1 - depth].FunctionHash() : 0;
  };
  return *captured[policies::PickExpensivePath({indices, count}, {innermost, count}, function_at)];
}

}  // namespace lagwatch::watchdog
