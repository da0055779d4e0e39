// SPDX-License-Identifier: Apache-2.0
// The part of Watchdog that reports dispatches which used files for too long: kind kIo.
#include <algorithm>

#include "base/clock.h"
#include "watchdog/loops/dispatch_tag.h"
#include "watchdog/report_facts.h"
#include "watchdog/samples/past_dispatches.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {

void Watchdog::LookAtIo() {
  if (io_ == nullptr) return;
  io_->SetLimits(options_.io, tick_scale_);
  io_->AskForModules(base::SystemClock().MonoNs());
  while (io_->Take()) {
    ReportIo();
    io_->Wipe();
  }
}

void Watchdog::ReportIo() {
  const WatchTools& tools = tools_;
  if (!options_.reports_under_debugger && stack::ReadTracer(tools.process()) != 0)
    return counters_.checks_under_debugger.Add();
  const trace::ThreadIoTable::Found& found = io_->found();
  const trace::IoContent& content = found.content;
  LoopSample* sample = dump_sample_.get();
  stack::Stack& stack = sample->stack;
  tools.capturer->RefreshModules();
  stack.Clear();
  if (const stack::RawStack* raw = io_->RawStack()) tools.capturer->code().Unwind(*raw, &stack);
  const int64_t now_ns = tools.clock->MonoNs();
  if (!io_->IsNews(stack.FunctionHash(), now_ns)) return counters_.unchanged_checks.Add();
  sample->mono_ns = now_ns;
  sample->found_ns = now_ns;
  sample->use = {};
  sample->no_stack_reason = stack::NoStackReason::kNone;

  const WatchedLoop* loop = io_->FindLoop(registry_->places());
  char name[WatchedLoop::kMaxNameBytes] = {};
  if (loop != nullptr) loop->CopyName(name);
  const int64_t wall_ms = tools.clock->WallMs();
  HangEvent event{};
  event.id = event.hang_id = base::CreateUuidV7(wall_ms);
  event.kind = HangKind::kIo;
  event.level = HangLevel::kHang;
  event.loop = name;
  char tag[trace::IoContent::kMaxTagBytes];
  std::ranges::copy(content.tag, tag);
  PlaceFunctionTag(tools.capturer->modules(), tag);
  event.tag = tag;
  event.tid = static_cast<uint32_t>(found.tid);
  event.threshold_ms = static_cast<uint32_t>(options_.io.limit_ns / base::kNsPerMs);
  event.elapsed_ns = tools.tick_scale->ToNs(content.sum_ticks);
  const int64_t ago_ns =
      std::max<int64_t>(tools.tick_scale->ToNs(base::ReadTicks() - content.begin_ticks), 0);
  event.start_wall_ms = wall_ms - (content.begin_ticks == 0 ? 0 : ago_ns / base::kNsPerMs);
  event.detected_mono_ns = now_ns;
  const LoopSample* samples[] = {sample};
  event.samples = samples;
  event.expensive_stack = &stack;
  FactList facts;
  io_->AddFacts(*tools.tick_scale, &facts);
  AddThreadFacts(found.tid, tools, &facts);
  AddProcessFacts(tools, &facts);
  event.facts = facts.all();
  PastDispatchRoom room;
  if (loop != nullptr)
    event.history = ReadPastDispatches(loop->probe.history(), *tools.tick_scale, *tools.clock,
                                       tools.capturer->modules(), &room);
  event.modules = &tools.capturer->modules();
  event.script_functions = &tools.capturer->code().script_functions();
  const bool is_kept = tools.sink->OnHang(event);
  (is_kept ? counters_.reports : counters_.reports_lost).Add();
  if (is_kept) tools.sink->OnHangEnd(event.id, event.elapsed_ns);  // it is over
  DiscountForeignTime(INT64_MAX);                                  // for the disk
}

}  // namespace lagwatch::watchdog
