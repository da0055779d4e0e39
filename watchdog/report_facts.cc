// SPDX-License-Identifier: Apache-2.0
#include "watchdog/report_facts.h"

#include "base/clock.h"
#include "base/system/thread.h"

namespace lagwatch::watchdog {

uint64_t CountPauses(const WatchTools& tools) {
  base::Counter& counted = tools.counters->capture_pause_ns;
  const auto ns =
      static_cast<uint64_t>(tools.tick_scale->ToNs(tools.capturer->counters().pause_ticks.value()));
  if (ns > counted.value()) counted.Add(ns - counted.value());  // the scale may have been corrected
  return counted.value();
}

void AddOwnCost(const WatchTools& tools, FactList* facts) {
  constexpr int64_t kNsPerUs = 1000;
  const stack::CaptureCounters& captures = tools.capturer->counters();
  facts->Add("watchdog_cpu_us", base::ThreadCpuNs(base::CurrentThreadId()) / kNsPerUs);
  facts->Add("capture_pause_us", static_cast<int64_t>(CountPauses(tools)) / kNsPerUs);
  facts->Add("capture_signals", static_cast<int64_t>(captures.signals_sent.value()));
  if (captures.handler_lost.value() != 0)
    facts->Add("handler_lost", static_cast<int64_t>(captures.handler_lost.value()));
  if (captures.handler_moved.value() != 0)
    facts->Add("handler_moved", static_cast<int64_t>(captures.handler_moved.value()));
}

void AddNoStackFacts(std::span<const LoopSample* const> samples, FactList* facts) {
  int64_t count = 0;
  const char* reason = nullptr;
  for (const LoopSample* sample : samples) {
    if (sample->stack.frame_count != 0) continue;
    ++count;
    reason = NameOf(sample->no_stack_reason);
  }
  if (count == 0) return;
  facts->Add("no_stack_samples", count);
  facts->AddText("no_stack_reason", reason);
}

void AddTaskFacts(const stack::Stack& stack, const WatchTools& tools, FactList* facts) {
  const stack::ScriptTask task = tools.capturer->FindScriptTask(stack);
  if (*task.name != '\0') facts->AddText("task", task.name);
  if (*task.awaiters != '\0') facts->AddText("task_awaited_by", task.awaiters);
}

}  // namespace lagwatch::watchdog
