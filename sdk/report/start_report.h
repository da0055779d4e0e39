// SPDX-License-Identifier: Apache-2.0
// The report of a start that took too long, and which hangs began in the start. Context: watchdog.
#pragma once

#include <cstdint>

#include "base/uuid.h"
#include "report/format/fixed_buffer.h"
#include "sdk/report/program_facts.h"
#include "sdk/run/start_up.h"

namespace lagwatch::sdk {

class StartReport {
 public:
  // `start_up` and `registry` are borrowed. Without this call there is no report.
  void Watch(const StartPlan& plan, StartUp* start_up, watchdog::LoopRegistry* registry) {
    plan_ = plan;
    start_up_ = start_up;
    registry_ = registry;
  }
  // Whether that was before the program said that it is ready.
  bool IsInStart(int64_t mono_ns) const;
  // A hang that began then was reported.
  void NoteHang(int64_t begin_mono_ns) { hangs_ += IsInStart(begin_mono_ns); }

  // True once: when the program is ready, and was not in time. Only then may the next two be called.
  bool TakeSlowStart();
  int64_t duration_ns() const { return start_up_->ready_ns() - plan_.process_start_ns; }
  // False when the report does not fit.
  bool Encode(const base::Uuid& id, const ProgramFacts& facts, const ProgramContext& program,
              report::FixedBuffer* buffer) const;

 private:
  StartPlan plan_;
  StartUp* start_up_ = nullptr;
  watchdog::LoopRegistry* registry_ = nullptr;
  int64_t hangs_ = 0;
};

}  // namespace lagwatch::sdk
