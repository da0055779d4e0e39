// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <vector>

#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/trace/data/name_frames.h"
#include "tools/trace/data/trace_file.h"
#include "tools/trace/trace_commands.h"
#include "trace/model/functions.h"
#include "trace/model/wakes.h"
#include "trace/model/weights.h"

namespace lagwatch::tools {
namespace {

constexpr double kNsPerMs = 1e6;

std::string Ms(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(ns) / kNsPerMs);
  return text;
}

std::string ThreadTable(const trace::Trace& trace) {
  Table table({{"TID", Table::Align::kRight},
               {"THREAD"},
               {"LOOKS", Table::Align::kRight},
               {"RUNS", Table::Align::kRight},
               {"CALLS", Table::Align::kRight}});
  for (const trace::Thread& thread : trace.threads) {
    uint64_t looks = 0;
    for (const trace::Run& run : thread.runs) looks += run.count;
    table.AddRow({std::to_string(thread.tid), thread.name, std::to_string(looks),
                  std::to_string(thread.runs.size()), std::to_string(thread.calls.size())});
  }
  return table.ToText(TerminalWidth());
}

std::string FunctionTable(const trace::Trace& trace, const ShowOptions& options) {
  Table table({{"SELF-MS", Table::Align::kRight},
               {"TOTAL-MS", Table::Align::kRight},
               {"LOOKS", Table::Align::kRight},
               {"FUNCTION", Table::Align::kLeft, true}});
  std::vector<trace::FunctionTime> times = trace::FindFunctionTimes(trace);
  if (options.sort == "total")
    std::ranges::stable_sort(times, std::greater(), &trace::FunctionTime::total_ns);
  times.resize(std::min(times.size(), options.lines));
  for (const trace::FunctionTime& time : times) {
    table.AddRow({Ms(time.self_ns), Ms(time.total_ns), std::to_string(time.count),
                  trace::DisplayWithLine(trace, trace.frames[time.frame])});
  }
  return table.ToText(TerminalWidth());
}

}  // namespace

int ShowTrace(const ShowOptions& options) {
  auto namer = FrameNamer::Create(options.asks_debuginfod);
  auto trace = ReadTraceFile(options.input);
  if (!trace.ok() || !namer.ok()) {
    const base::Status& problem = trace.ok() ? namer.status() : trace.status();
    std::cerr << "lagwatch: trace show: " << Printable(problem.message()) << "\n";
    return 2;
  }
  (*namer)->Name(&*trace);
  for (const std::string& note : (*namer)->TakeNotes()) Fail(note);
  std::ostringstream text;
  text << Printable(trace->process_name) << " (" << trace->pid << "), "
       << ShortDuration(static_cast<double>(trace->end_ns - trace->begin_ns) / kNsPerMs) << " from "
       << UtcTime((trace->begin_ns + trace->wall_minus_mono_ns) / 1'000'000) << " UTC\n\n"
       << ThreadTable(*trace) << "\n"
       << FunctionTable(*trace, options);
  if (const size_t wakes = trace::FindWakes(*trace).size(); wakes != 0)
    text << "\n" << wakes << " waits whose end is known\n";
  for (const trace::Loss& loss : trace->losses) {
    text << "\nmissing: " << loss.count << " " << Printable(loss.what);
    if (!loss.remedy.empty()) text << " (more room: " << Printable(loss.remedy) << ")";
  }
  if (!trace->losses.empty()) text << "\n";
  return PrintOnScreen(text.str(), options.screen, PaintTables);
}

}  // namespace lagwatch::tools
