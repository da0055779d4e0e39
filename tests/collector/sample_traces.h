// SPDX-License-Identifier: Apache-2.0
// Valid traces for tests of the collector, encoded the way clients encode them.
#pragma once

#include <string>
#include <utility>

#include "report/format/report.h"
#include "report/format/trace_record.h"
#include "report/probes/probe_result.h"
#include "report/probes/script_allowlist.h"
#include "tests/trace/model/trace_builder.h"
#include "trace/format/trace_codec.h"

namespace lagwatch::testing {

// 60 ms of a main thread that loads, and waits for a worker; with a place without a name.
inline trace::Trace SampleTrace() {
  TraceBuilder builder;
  for (int64_t time_ms = 0; time_ms < 30; time_ms += 10)
    builder.Sample(time_ms, time_ms < 20 ? "main;Handle;Load" : "main;Handle;Draw");
  const uint32_t worker = builder.AddThread("worker");
  builder.Wait(worker, 0, 25, "Pool;pthread_mutex_lock");
  const uint32_t nameless = builder.Frame("main;Nameless");
  builder.trace.frames[nameless].name.clear();
  builder.trace.frames[nameless].file.clear();
  builder.trace.nodes.push_back({.parent = 0, .frame = nameless});
  builder.Sample(40, "main").stack = static_cast<uint32_t>(builder.trace.nodes.size() - 1);
  builder.trace.end_ns = 60 * kMs;
  return std::move(builder.trace);
}

// Of a report, and made with it.
inline report::TraceRecord TraceOf(const base::Uuid& report_id, const trace::Trace& trace = SampleTrace(),
                                   int64_t wall_ms = 1'700'000'000'000) {
  return {.id = base::CreateUuidV7(wall_ms),
          .session_id = base::CreateUuidV7(wall_ms),
          .report_id = report_id,
          .hang_id = report_id,
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71",
          .begin_wall_ms = 1'700'000'000'000,
          .duration_ns = 40'000'000,
          .reason = "lag",
          .trace = trace::PackTrace(trace)};
}

// A client's answer about a script.
inline report::TraceRecord ProbeAnswerOf(const report::ProbeResult& result,
                                         int64_t wall_ms = 1'700'000'000'000) {
  report::TraceRecord record = TraceOf({}, {}, wall_ms);
  record.reason = report::kProbeReason;
  record.trace = report::PackProbeResult(result);
  record.cause = report::KeyOfScript(result.script);
  return record;
}

inline void AppendTrace(const report::TraceRecord& trace, std::string* batch) {
  report::AppendToBatch({report::RecordType::kTrace, report::EncodeTraceRecord(trace)}, batch);
}

}  // namespace lagwatch::testing
