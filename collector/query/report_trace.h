// SPDX-License-Identifier: Apache-2.0
// A report's samples as a trace of the thread that it is about, for the formats of other programs.
// Context: background; pure.
#pragma once

#include "collector/symbols/names/symbol_namer.h"
#include "report/format/report.h"
#include "trace/model/trace.h"

namespace lagwatch::collector {

// A sample stands for the time until the next one; the last for the time until the report was made. In a
// report about CPU use, it stands for the CPU time used there; of a slow dispatch, for the time spent there.
// A report without such times has its most expensive stack for as long as the hang lasted. Times begin with
// 0.
trace::Trace TraceOfReport(const report::Report& report, const SymbolNamer& namer);

}  // namespace lagwatch::collector
