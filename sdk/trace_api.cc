// SPDX-License-Identifier: Apache-2.0
// The parts of the program's work that it names itself.
#include <lagwatch/c.h>

#include "trace/instrument/call_recorder.h"

extern "C" {

const uint64_t* lw_trace_switch(void) noexcept { return lagwatch::trace::CallSwitch(); }

void lw_trace_begin_recorded(const char* name) noexcept { lagwatch::trace::RecordNameBegin(name); }

void lw_trace_end_recorded(const char* name) noexcept { lagwatch::trace::RecordNameEnd(name); }

}  // extern "C"
