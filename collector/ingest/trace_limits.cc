// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/trace_limits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "collector/ingest/inflate.h"
#include "collector/ingest/report_limits.h"
#include "report/probes/probe_result.h"
#include "report/probes/script_allowlist.h"
#include "trace/format/trace_codec.h"

namespace lagwatch::collector {
namespace {

// Frames of a stack, or of calls within calls, and the bytes of their names.
struct Shown {
  size_t frames = 0;
  size_t name_bytes = 0;

  Shown With(const trace::NamedFrame& frame) const { return {frames + 1, name_bytes + frame.name.size()}; }
};

// Adds up the expanded size of stacks.
class Unfolded {
 public:
  void Add(const Shown& stack) {
    deepest_ = std::max(deepest_, stack.frames);
    all_.frames += stack.frames;
    all_.name_bytes += stack.name_bytes;
  }
  bool IsTooMuch() const {
    return deepest_ > kMaxTraceDepth || all_.frames > kMaxTraceShownFrames ||
           all_.name_bytes > kMaxTraceShownNameBytes;
  }

 private:
  size_t deepest_ = 0;
  Shown all_;
};

bool UnfoldsTooMuch(const trace::Trace& trace) {
  std::vector<Shown> stacks;
  for (const trace::StackNode& node : trace.nodes) {
    const Shown parent = node.parent == trace::kNoIndex ? Shown() : stacks[node.parent];
    stacks.push_back(parent.With(trace.frames[node.frame]));
  }
  Unfolded unfolded;
  for (const trace::Thread& thread : trace.threads) {
    for (const trace::Run& run : thread.runs)
      if (run.stack != trace::kNoIndex) unfolded.Add(stacks[run.stack]);
    std::vector<Shown> calls{{}};
    for (const trace::CallEvent& call : thread.calls) {
      if (call.is_enter) calls.push_back(calls.back().With(trace.frames[call.frame]));
      unfolded.Add(calls.back());
      if (!call.is_enter && calls.size() > 1) calls.pop_back();
    }
  }
  return unfolded.IsTooMuch();
}

}  // namespace

base::Result<trace::Trace> OpenTrace(std::string_view packed, size_t unpacked_bytes) {
  auto bytes = InflateGzip(packed, unpacked_bytes);
  if (bytes.status().code() == StatusCode::kTooLarge)
    return Status(StatusCode::kTooLarge, "the trace expands beyond the limits of a trace");
  if (!bytes.ok()) return Status(StatusCode::kInvalid, "the trace is not one whole gzip member");
  return trace::DecodeTrace(*bytes, {.element_count = kMaxTraceElements, .text_bytes = kMaxTraceTextBytes});
}

Status CheckTrace(const report::TraceRecord& record, const TraceLimits& limits) {
  if (Status texts =
          CheckTexts("the trace has", {record.app, record.app_version, record.user, record.reason});
      !texts.ok())
    return texts;
  if (record.trace.size() > limits.packed_bytes) {
    return {StatusCode::kTooLarge,
            "the trace has more than " + std::to_string(limits.packed_bytes) + " bytes"};
  }
  if (record.reason == report::kProbeReason) {
    const auto result = LAGWATCH_TRY(report::UnpackProbeResult(record.trace));
    const bool is_named = report::KeyOfScript(result.script) == record.cause;
    return is_named ? Status() : Status(StatusCode::kInvalid, "the result of a probe is of another script");
  }
  const auto trace = LAGWATCH_TRY(OpenTrace(record.trace, limits.unpacked_bytes));
  if (UnfoldsTooMuch(trace))
    return {StatusCode::kTooLarge, "the trace has stacks that are too deep, or too many of them"};
  return {};
}

}  // namespace lagwatch::collector
