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
  sample.mono_ns = sample.found_ns = now_ns;
  return &sample;
}

void SampleRing::Take(const WatchedLoop& loop, int64_t now_ns, bool is_needed_now, const WatchTools& tools) {
  next_sample_ns_ = now_ns + interval_ns_;
  const int32_t tid = loop.tid.load();
  // Before the capture, which may keep the thread busy.
  const ThreadTime::Moment moment = time_->ReadMoment(tools.thread(tid));
  // Between two readings of the thread's CPU clock, of which the second is to show that it has run on.
  Collect(loop, Patience::kKeepAsking, tools);
  if (tools.has_ended()) {
    Collect(loop, Patience::kGiveUp, tools);
    AddWithoutStack(stack::NoStackReason::kLate, {}, now_ns, tools);
    return;
  }
  LoopSample* unanswered = is_outstanding_ ? &At(count_++, tools) : nullptr;
  LoopSample* sample = Next(now_ns, tools);
  if (sample == nullptr) return;
  if (unanswered != nullptr) {
    tools.capturer->Redirect(unanswered->stack, &sample->stack, &sample->no_stack_reason);
    tools.counters->samples.Add();
  } else {
    Ask(tid, moment, is_needed_now, sample, tools);
    // On a busy machine it may have taken long until the thread was asked, or had answered.
    sample->found_ns = std::max(now_ns, tools.NowNs());
  }
  is_outstanding_ = true;
  const bool is_counted = moment.is_known && spans_->IsAnyGoingOn(loop);
  sample->use = is_counted ? time_->Add(tools.thread(tid), moment.look) : policies::ThreadUse{};
  if (const int64_t since_ns = time_->StarvedSinceNs(); since_ns != 0 && tools.processor_users != nullptr)
    tools.processor_users->Begin(since_ns, tools.process());
  if (unanswered != nullptr) {
    const bool has_run = sample->use.cpu_ns > 0;
    unanswered->no_stack_reason =
        has_run ? stack::NoStackReason::kNoAnswer : stack::NoStackReason::kNoProcessor;
  }
  if (is_needed_now) Collect(loop, Patience::kGiveUp, tools);
}

void SampleRing::Ask(int32_t tid, const ThreadTime::Moment& moment, bool is_needed_now, LoopSample* sample,
                     const WatchTools& tools) {
  // A thread that has used this much CPU time since it last slept runs in the program, and is not just
  // leaving a system call, which a signal would make fail. Without a processor it answers at its next turn.
  constexpr int64_t kProgressNs = 5'000;
  const int64_t cpu_ns = moment.look.use.cpu_ns;
  const bool runs_by_turns = !moment.has_run_on && moment.ready_since_cpu_ns >= 0 &&
                             cpu_ns - moment.ready_since_cpu_ns >= kProgressNs;
  if (runs_by_turns || (moment.has_run_on && !is_needed_now)) {
    tools.capturer->BeginCapture(tid, runs_by_turns ? moment.ready_since_cpu_ns : cpu_ns, &sample->stack,
                                 &sample->no_stack_reason);
    return;
  }
  tools.capturer->Capture(tid, &sample->stack, moment.has_run_on ? cpu_ns : stack::StackCapturer::kUnread);
  sample->no_stack_reason = tools.capturer->no_stack_reason();
}

void SampleRing::Collect(const WatchedLoop& loop, Patience patience, const WatchTools& tools) {
  if (!is_outstanding_) return;
  const bool keeps_asking = patience == Patience::kKeepAsking && spans_->IsAnyGoingOn(loop);
  if (keeps_asking && !tools.capturer->TryCollect(At(count_, tools).stack)) return;
  if (!keeps_asking) tools.capturer->Collect();
  is_outstanding_ = false;
  // A later stack must not be blamed for it. Spans that go on may be blamed: the others' check verifies once
  // more whether they do.
  if (!spans_->IsAnyGoingOn(loop)) return tools.counters->samples_discarded.Add();
  tools.counters->samples.Add();
  ++count_;
}

const LoopSample* SampleRing::AddWithoutStack(stack::NoStackReason reason, const policies::ThreadUse& use,
                                              int64_t now_ns, const WatchTools& tools) {
  if (std::exchange(is_outstanding_, false)) {
    tools.capturer->Collect();
    ++count_;
  }
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

policies::SampleAnswer AnswerOf(const LoopSample& sample) {
  if (sample.stack.frame_count != 0) return policies::SampleAnswer::kStack;
  const stack::NoStackReason reason = sample.no_stack_reason;
  const bool may_answer =
      reason == stack::NoStackReason::kNoProcessor || reason == stack::NoStackReason::kNoAnswer;
  return may_answer ? policies::SampleAnswer::kNoneYet : policies::SampleAnswer::kNone;
}

const LoopSample& PickExpensiveSample(std::span<const LoopSample* const> samples,
                                      policies::ExpensiveStackRule rule) {
  const LoopSample* captured[WatchOptions::kMaxRingSize];
  policies::WeighedSample weighed[WatchOptions::kMaxRingSize];
  size_t indices[WatchOptions::kMaxRingSize];
  size_t count = 0;
  policies::SampleTime time;
  for (const LoopSample* sample : samples) {
    const policies::SampleTime::Parts spent = time.Add(sample->mono_ns, sample->found_ns, AnswerOf(*sample));
    if (spent.earlier_ns != 0) weighed[count - 1].spent_ns += spent.earlier_ns;
    if (sample->stack.frame_count == 0) continue;
    captured[count] = sample;
    weighed[count] = {sample->stack.InnermostFunctionHash(), spent.own_ns};
    indices[count] = count;
    ++count;
  }
  if (count == 0) return *samples.back();
  if (rule == policies::ExpensiveStackRule::kLeaf)
    return *captured[policies::PickExpensiveLeaf({weighed, count})];
  auto function_at = [&](size_t sample, size_t depth) -> uint64_t {
    const auto frames = captured[sample]->stack.view();
    return depth < frames.size() ? frames[frames.size() - 1 - depth].FunctionHash() : 0;
  };
  return *captured[policies::PickExpensivePath({indices, count}, {weighed, count}, function_at)];
}

}  // namespace lagwatch::watchdog
