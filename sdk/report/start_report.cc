// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/start_report.h"

#include "base/clock.h"
#include "report/format/report_encoder.h"
#include "stack/threads/thread_counters.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::sdk {

bool StartReport::IsInStart(int64_t mono_ns) const {
  if (plan_.threshold_ns == 0 || start_up_->is_withdrawn()) return false;
  int64_t ready_ns = start_up_->ready_ns();
  return ready_ns == 0 || mono_ns < ready_ns;
}

bool StartReport::TakeSlowStart() {
  if (plan_.threshold_ns == 0 || start_up_->ready_ns() == 0 || !start_up_->Claim()) return false;
  const bool is_slow = duration_ns() > plan_.threshold_ns && !start_up_->is_withdrawn();
  return is_slow && stack::ReadTracer(base::Process::Own()) == 0;  // a debugger makes it slow
}

bool StartReport::Encode(const base::Uuid& id, const ProgramFacts& facts, const ProgramContext& program,
                         report::FixedBuffer* buffer) const {
  const int64_t ready_ns = start_up_->ready_ns();
  const base::Clock& clock = base::SystemClock();
  const int64_t begin_ns = plan_.process_start_ns;
  report::ReportEncoder encoder(buffer);
  report::ReportHeader header{.id = id,
                              .hang_id = id,
                              .tid = facts.pid,
                              .tag = plan_.is_warm ? "warm start" : "cold start",
                              .kind = report::HangKind::kStartup,
                              .threshold_ms = static_cast<uint32_t>(plan_.threshold_ns / base::kNsPerMs),
                              .start_wall_ms = clock.WallMs() - (clock.MonoNs() - begin_ns) / base::kNsPerMs,
                              .elapsed_ns = ready_ns - begin_ns,
                              .cpu_window_ns = ready_ns - begin_ns,
                              .cpu_thread_ns = base::ThreadCpuNs(static_cast<int>(facts.pid)),
                              .cpu_process_ns = base::ProcessCpuNs()};
  facts.Fill(&header);
  encoder.SetHeader(header);
  encoder.AddText("start", plan_.is_warm ? "warm" : "cold");
  struct Milestone {
    const char* name;
    int64_t mono_ns;
  };
  const Milestone milestones[] = {{"library_load_ms", LibraryLoadNs()},
                                  {"monitor_start_ms", plan_.monitor_start_ns},
                                  {"first_dispatch_ms", FirstDispatchNs(registry_)},
                                  {"first_frame_ms", FirstFrameNs(registry_)},
                                  {"ready_ms", ready_ns}};
  for (const Milestone& milestone : milestones) {
    // A parent's, or one that was not reached.
    if (milestone.mono_ns < begin_ns || milestone.mono_ns > ready_ns) continue;
    encoder.AddNumber(milestone.name, (milestone.mono_ns - begin_ns) / base::kNsPerMs);
  }
  AddProgramContext(program, facts.scrubber, &encoder);
  // They show what the program was doing.
  encoder.AddNumber("hangs_before_ready", hangs_);
  encoder.SetExpensiveStack(encoder.AddStack({}, report::Completeness::kNone));
  return encoder.ok();
}

}  // namespace lagwatch::sdk
