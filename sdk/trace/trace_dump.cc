// SPDX-License-Identifier: Apache-2.0
#include "sdk/trace/trace_dump.h"

#include <algorithm>

#include "trace/format/trace_codec.h"
#include "trace/record/arena_reader.h"

namespace lagwatch::sdk {
namespace {

void ScrubTexts(const policies::Scrubber& scrubber, trace::Trace* trace) {
  trace->process_name = scrubber.Text(trace->process_name).view();
  for (trace::Module& module : trace->modules) module.path = scrubber.Path(module.path).view();
  for (trace::NamedFrame& frame : trace->frames) frame.name = scrubber.Text(frame.name).view();
  for (trace::Thread& thread : trace->threads) {
    thread.name = scrubber.Text(thread.name).view();
    for (trace::Dispatch& dispatch : thread.dispatches) dispatch.tag = scrubber.Text(dispatch.tag).view();
  }
}

struct Packed {
  trace::Trace trace;
  std::string bytes;
};

Packed PackWindow(const trace::Arena& arena, const trace::Window& window, int64_t left_out_ns,
                  const policies::Scrubber& scrubber) {
  Packed packed{trace::ReadArena(arena, window), {}};
  ScrubTexts(scrubber, &packed.trace);
  if (left_out_ns != 0) {
    packed.trace.losses.push_back({"milliseconds at the begin, because all was too large",
                                   static_cast<uint64_t>(left_out_ns / base::kNsPerMs), "trace_max_kib"});
  }
  packed.bytes = trace::PackTrace(packed.trace);
  return packed;
}

}  // namespace

std::optional<report::TraceRecord> DumpTrace(const trace::Arena& arena, const TraceEvent& event,
                                             const TraceOptions& options, const ProgramFacts& facts) {
  constexpr int64_t kShortestNs = 10 * base::kNsPerMs;
  trace::Window window{event.begin_ns - options.before_ns, event.end_ns + kTraceAfterNs};
  Packed packed = PackWindow(arena, window, 0, facts.scrubber);
  const int64_t whole_begin_ns = packed.trace.begin_ns;
  while (packed.bytes.size() > options.max_bytes) {
    const int64_t length_ns = packed.trace.end_ns - packed.trace.begin_ns;
    if (length_ns < kShortestNs) return std::nullopt;
    window = {packed.trace.end_ns - length_ns / 2, packed.trace.end_ns};
    packed = PackWindow(arena, window, window.begin_ns - whole_begin_ns, facts.scrubber);
  }
  const trace::Trace& trace = packed.trace;
  if (trace.threads.empty()) return std::nullopt;
  const int64_t begin_wall_ms = (trace.begin_ns + trace.wall_minus_mono_ns) / base::kNsPerMs;
  return report::TraceRecord{.id = base::CreateUuidV7(base::SystemClock().WallMs()),
                             .session_id = facts.session_id,
                             .report_id = event.report_id,
                             .hang_id = event.hang_id,
                             .app = facts.app,
                             .app_version = facts.app_version,
                             .user = facts.user,
                             .begin_wall_ms = static_cast<uint64_t>(std::max<int64_t>(begin_wall_ms, 0)),
                             .duration_ns = static_cast<uint64_t>(trace.end_ns - trace.begin_ns),
                             .reason = std::string(TraceReasonName(event.reason)),
                             .trace = std::move(packed.bytes),
                             .cause = event.cause};
}

}  // namespace lagwatch::sdk
