// SPDX-License-Identifier: Apache-2.0
// A sink that keeps its events.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "watchdog/events/hang_sink.h"

namespace lagwatch::testing {

struct RecordedHang {
  base::Uuid id;
  base::Uuid hang_id;
  uint32_t ordinal;
  policies::HangKind kind;
  policies::HangLevel level;
  std::string loop;
  std::string tag;
  int64_t elapsed_ns;
  int64_t cpu_window_ns;
  int64_t cpu_thread_ns;
  size_t samples;
  int64_t samples_cpu_ns;
  size_t threads;
  std::vector<stack::LockWait> waits;
  policies::WaitOutcome wait_outcome;
  policies::Verdict verdict;
  std::map<std::string, int64_t> facts;
  std::map<std::string, std::string> texts;
  std::vector<policies::PastDispatchOf<std::string>> history;
  uint64_t innermost_function;  // its address; 0 when unknown
  policies::DiscountedTime discounted;
};

struct RecordedUsage {
  base::Uuid id;
  int64_t begin_wall_ms;
  int64_t end_wall_ms;
  std::map<std::string, policies::LoopUsage> loops;
  std::map<std::string, policies::SlowDispatches> slow;  // by tag
  std::vector<uint64_t> suppressed;
};

// Thread safety: any thread may ask.
class RecordingSink final : public watchdog::HangSink {
 public:
  bool OnHang(const watchdog::HangEvent& event) override {
    std::lock_guard lock(mutex_);
    hangs_.push_back({event.id,
                      event.hang_id,
                      event.ordinal,
                      event.kind,
                      event.level,
                      std::string(event.loop),
                      std::string(event.tag),
                      event.elapsed_ns,
                      event.cpu_window_ns,
                      event.cpu_thread_ns,
                      event.samples.size(),
                      CpuOf(event.samples),
                      event.threads.size(),
                      WaitsOf(event),
                      event.wait_outcome,
                      event.verdict,
                      FactsOf(event),
                      TextsOf(event),
                      HistoryOf(event),
                      InnermostFunction(event),
                      event.discounted});
    return true;
  }
  void OnBlame(const base::Uuid& event_id) override {
    std::lock_guard lock(mutex_);
    blamed_.push_back(event_id);
  }
  void OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) override {
    std::lock_guard lock(mutex_);
    ends_.emplace_back(event_id, duration_ns);
  }
  void OnFrames(const watchdog::FrameEvent& event) override {
    std::lock_guard lock(mutex_);
    frames_[event.loop_name] += event.frames;
  }
  bool OnUsage(const watchdog::UsageEvent& event) override {
    std::lock_guard lock(mutex_);
    RecordedUsage& usage =
        usages_.emplace_back(RecordedUsage{event.id, event.begin_wall_ms, event.end_wall_ms, {}, {}, {}});
    for (const watchdog::NamedLoopUsage& loop : event.loops) usage.loops[loop.loop] = loop.usage;
    for (const watchdog::SlowTag& slow : event.slow) usage.slow[slow.tag] = slow.dispatches;
    usage.suppressed.assign(event.suppressed.begin(), event.suppressed.end());
    return keeps_usage;
  }
  void OnRoundDone() override {
    std::lock_guard lock(mutex_);
    ++rounds_;
  }

  std::vector<RecordedHang> hangs() const {
    std::lock_guard lock(mutex_);
    return hangs_;
  }
  std::vector<std::pair<base::Uuid, int64_t>> ends() const {
    std::lock_guard lock(mutex_);
    return ends_;
  }
  std::vector<base::Uuid> blamed() const {
    std::lock_guard lock(mutex_);
    return blamed_;
  }
  // Of the loop of that name, so far.
  policies::FrameTotals frames(const std::string& loop) const {
    std::lock_guard lock(mutex_);
    auto found = frames_.find(loop);
    return found == frames_.end() ? policies::FrameTotals() : found->second;
  }
  int rounds() const {
    std::lock_guard lock(mutex_);
    return rounds_;
  }
  std::vector<RecordedUsage> usages() const {
    std::lock_guard lock(mutex_);
    return usages_;
  }
  std::atomic<bool> keeps_usage{true};

 private:
  static int64_t CpuOf(std::span<const watchdog::LoopSample* const> samples) {
    int64_t cpu_ns = 0;
    for (const watchdog::LoopSample* sample : samples) cpu_ns += sample->use.cpu_ns;
    return cpu_ns;
  }
  static std::vector<stack::LockWait> WaitsOf(const watchdog::HangEvent& event) {
    std::vector<stack::LockWait> waits;
    for (const watchdog::Wait& wait : event.waits) waits.push_back(wait.lock);
    return waits;
  }
  static std::vector<policies::PastDispatchOf<std::string>> HistoryOf(const watchdog::HangEvent& event) {
    std::vector<policies::PastDispatchOf<std::string>> history;
    for (const auto& past : event.history)
      history.push_back({std::string(past.tag), past.age_ns, past.wall_ns, past.cpu_ns, past.queue_wait_ns});
    return history;
  }
  static std::map<std::string, int64_t> FactsOf(const watchdog::HangEvent& event) {
    std::map<std::string, int64_t> facts;
    std::map<std::string, std::string> texts;
    for (const watchdog::Fact& fact : event.facts) facts[fact.name] = fact.number;
    return facts;
  }
  static std::map<std::string, std::string> TextsOf(const watchdog::HangEvent& event) {
    std::map<std::string, std::string> texts;
    for (const watchdog::Fact& fact : event.facts) {
      if (fact.text != nullptr) texts[fact.name] = fact.text;
    }
    return texts;
  }
  static uint64_t InnermostFunction(const watchdog::HangEvent& event) {
    const stack::Stack& stack = *event.expensive_stack;
    if (stack.frame_count == 0 || stack.frames[0].module == stack::kNoModule) return 0;
    return event.modules->module(stack.frames[0].module).load_bias + stack.frames[0].function_offset;
  }

  mutable std::mutex mutex_;
  std::vector<RecordedHang> hangs_;
  std::vector<std::pair<base::Uuid, int64_t>> ends_;
  std::vector<base::Uuid> blamed_;
  std::map<std::string, policies::FrameTotals> frames_;
  std::vector<RecordedUsage> usages_;
  int rounds_ = 0;
};

}  // namespace lagwatch::testing
