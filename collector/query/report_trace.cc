// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/own_names.h"
#include "collector/query/trace_queries.h"

namespace lagwatch::collector {
namespace {

// Enters and leaves functions, so that neighbouring stacks share the calls that they have in common.
class CallWriter {
 public:
  // The trace has one thread. Borrows both.
  CallWriter(const SymbolNamer& namer, trace::Trace* trace) : namer_(namer), trace_(trace) {}

  void Add(const report::Stack& stack, int64_t time_ns) {
    if (time_ns <= 0) return;
    const std::vector<trace::NamedFrame> frames = FramesOf(stack);
    const auto is_same = [&](uint32_t open, const trace::NamedFrame& frame) {
      const trace::NamedFrame& other = trace_->frames[open];
      return other.name == frame.name && other.module == frame.module;
    };
    const auto common = std::ranges::mismatch(open_, frames, is_same).in1 - open_.begin();
    LeaveAllBut(static_cast<size_t>(common));
    for (auto frame = frames.begin() + common; frame != frames.end(); ++frame) {
      open_.push_back(static_cast<uint32_t>(trace_->frames.size()));
      trace_->frames.push_back(*frame);
      calls().push_back({.time_ns = trace_->end_ns, .frame = open_.back(), .is_enter = true});
    }
    trace_->end_ns += time_ns;
  }
  void Finish() { LeaveAllBut(0); }

 private:
  // Outermost first, with inlined functions.
  std::vector<trace::NamedFrame> FramesOf(const report::Stack& stack) const {
    std::vector<trace::NamedFrame> frames;
    for (const report::Frame& frame : stack.frames) {
      for (const NamedFrame& known : namer_.NamesOf(frame)) {
        if (base::IsOwnFunctionName(known.function)) continue;  // named since it was stored
        trace::NamedFrame& named = frames.emplace_back(frame, known.function);
        named.file = known.file;
        named.line = known.line;
      }
    }
    std::ranges::reverse(frames);
    return frames;
  }

  void LeaveAllBut(size_t count) {
    for (; open_.size() > count; open_.pop_back())
      calls().push_back({.time_ns = trace_->end_ns, .frame = open_.back(), .is_enter = false});
  }

  std::vector<trace::CallEvent>& calls() { return trace_->threads.front().calls; }

  const SymbolNamer& namer_;
  trace::Trace* trace_;
  std::vector<uint32_t> open_;  // indices into Trace::frames
};

int64_t TimeOf(const report::Report& report, size_t index) {
  const report::Sample& sample = report.samples[index];
  switch (report.kind) {
    case report::HangKind::kSlow:
      return static_cast<int64_t>(sample.wall_ns);
    case report::HangKind::kCpu:
    case report::HangKind::kCpuAverage:
      return sample.use.cpu_ns;
    default:
      return sample.age_ns - (index + 1 < report.samples.size() ? report.samples[index + 1].age_ns : 0);
  }
}

}  // namespace

trace::Trace TraceOfReport(const report::Report& report, const SymbolNamer& namer) {
  trace::Trace trace;
  trace.pid = static_cast<int32_t>(report.pid);
  trace.process_name = report.app + " " + report.app_version;
  for (const report::Module& module : report.modules)
    trace.modules.push_back({module.path, module.build_id, module.load_bias});
  trace::Thread& thread = trace.threads.emplace_back();
  thread.tid = static_cast<int32_t>(report.tid);
  const auto known = std::ranges::find(report.threads, report.tid, &report::Thread::tid);
  if (known != report.threads.end()) thread.name = known->name;

  CallWriter writer(namer, &trace);
  for (size_t i = 0; i < report.samples.size(); ++i)
    writer.Add(report.stacks[report.samples[i].stack], TimeOf(report, i));
  if (trace.frames.empty()) {
    writer.Add(report.stacks[report.expensive_stack], std::max(report.elapsed_ns, base::kNsPerMs));
  }
  writer.Finish();
  return trace;
}

}  // namespace lagwatch::collector
