// SPDX-License-Identifier: Apache-2.0
// The parts of the program's work that it names itself.
#include <lagwatch/c.h>

#include "sdk/trace/shared_calls.h"
#include "trace/instrument/call_recorder.h"
#include "trace/record/arena.h"

extern "C" {

const uint64_t* lw_trace_switch(void) noexcept { return lagwatch::trace::CallSwitch(); }

void lw_trace_begin_recorded(const char* name) noexcept { lagwatch::trace::RecordNameBegin(name); }

void lw_trace_end_recorded(const char* name) noexcept { lagwatch::trace::RecordNameEnd(name); }

LW_API int lw_internal_start_calls(uint64_t format, void* pool, int is_coarse) noexcept {
  if (format != lagwatch::trace::ArenaHeader::kMagic) return 0;
  const auto clock =
      is_coarse != 0 ? lagwatch::trace::CallClock::kCoarse : lagwatch::trace::CallClock::kPrecise;
  return lagwatch::trace::StartCalls(static_cast<lagwatch::trace::BlockPoolHeader*>(pool), clock) ? 1 : 0;
}

LW_API void lw_internal_stop_calls(void) noexcept { lagwatch::trace::StopCalls(); }

}  // extern "C"
