// SPDX-License-Identifier: Apache-2.0
#include "policies/fact_names.h"
#include "watchdog/report_facts.h"
#include "watchdog/samples/past_dispatches.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {

void Watchdog::MakeDump(const DumpRequest& request, const WatchedLoop* loop, const ServiceBeats::Late* late) {
  const WatchTools& tools = tools_;
  LoopSample* sample = dump_sample_.get();
  const int32_t silent_tid = late != nullptr ? late->tid : tools.process().pid();
  const int32_t tid = loop != nullptr ? loop->tid.load() : silent_tid;
  char name[WatchedLoop::kMaxNameBytes] = {};
  if (loop != nullptr) loop->CopyName(name);
  tools.capturer->KeepSignal();
  tools.capturer->RefreshModules();
  tools.capturer->Capture(tid, &sample->stack);
  sample->mono_ns = tools.clock->MonoNs();
  sample->use = {};
  sample->no_stack_reason = tools.capturer->no_stack_reason();

  HangEvent event{};
  const int64_t wall_ms = tools.clock->WallMs();
  event.id = base::CreateUuidV7(wall_ms);
  event.hang_id = event.id;
  event.kind = HangKind::kDump;
  event.level = HangLevel::kHang;
  event.loop = name;
  event.tag = request.reason;
  event.tid = static_cast<uint32_t>(tid);
  event.start_wall_ms = wall_ms;
  event.detected_mono_ns = sample->mono_ns;
  const LoopSample* samples[] = {sample};
  event.samples = samples;
  event.expensive_stack = &sample->stack;
  tools.counters->waits_changed.Add(tools.waits->Follow(tid, tools.capturer));
  event.waits = tools.waits->waits();
  event.wait_outcome = tools.waits->outcome();
  tools.threads->Capture(tid, sample->stack, tools.capturer);
  tools.counters->thread_stacks_reused.Add(tools.threads->reused_count());
  event.threads = tools.threads->threads();
  event.threads_dropped = tools.threads->dropped_count();
  FactList facts;
  if (request.signal_number != 0) facts.Add("dump_signal", request.signal_number);
  if (late != nullptr) {
    facts.Add("watchdog_silent_ms", (sample->mono_ns - late->since_ns) / base::kNsPerMs);
    facts.Add("watchdog_timeout_ms", late->timeout_ns / base::kNsPerMs);
  }
  AddNoStackFacts(samples, &facts);
  AddTaskFacts(sample->stack, tools, &facts);
  facts.Add(policies::kOwnThreadsFact, tools.threads->own_count());
  AddThreadFacts(tid, tools, &facts);
  AddProcessFacts(tools, &facts);
  event.facts = facts.all();
  PastDispatchRoom room;
  if (loop != nullptr)
    event.history = ReadPastDispatches(loop->probe.history(), *tools.tick_scale, *tools.clock,
                                       tools.capturer->modules(), &room);
  event.modules = &tools.capturer->modules();
  event.script_functions = &tools.capturer->code().script_functions();
  const bool is_kept = tools.sink->OnHang(event);
  (is_kept ? tools.counters->reports : tools.counters->reports_lost).Add();
  tools.counters->dumps.Add(is_kept);
}

}  // namespace lagwatch::watchdog
