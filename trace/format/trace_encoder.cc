// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/gzip/gzip.h"
#include "report/format/protozero_checked.h"
#include "trace/format/trace_codec.h"
#include "trace/format/trace_fields.h"

namespace lagwatch::trace {
namespace {

using protozero::pbf_builder;

// Numbers the texts in the order in which they are met.
class TextNumbers {
 public:
  uint32_t Of(const std::string& text) {
    if (text.empty()) return 0;
    const auto [place, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size() + 1));
    if (is_new) texts_.push_back(&place->first);
    return place->second;
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

template <typename Field>
void PutUnsigned(pbf_builder<Field>* message, Field field, const std::vector<uint64_t>& column) {
  message->add_packed_uint64(field, column.begin(), column.end());
}
template <typename Field>
void PutSigned(pbf_builder<Field>* message, Field field, const std::vector<int64_t>& column) {
  message->add_packed_sint64(field, column.begin(), column.end());
}

// The differences between numbers that are added one after the other.
class Deltas {
 public:
  explicit Deltas(int64_t first = 0) : last_(static_cast<uint64_t>(first)) {}
  void Add(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    column_.push_back(static_cast<int64_t>(bits - last_));
    last_ = bits;
  }
  const std::vector<int64_t>& column() const { return column_; }

 private:
  uint64_t last_;
  std::vector<int64_t> column_;
};

std::string EncodeFrames(const Trace& trace, TextNumbers* texts) {
  std::vector<uint64_t> modules, functions, names, files, lines, ids;
  Deltas offsets;
  bool has_names = false;
  bool has_ids = false;
  for (const NamedFrame& frame : trace.frames) {
    modules.push_back(frame.module == kNoIndex ? 0 : uint64_t{frame.module} + 1);
    offsets.Add(static_cast<int64_t>(frame.offset));
    functions.push_back(frame.function_offset);
    names.push_back(texts->Of(frame.name));
    files.push_back(texts->Of(frame.file));
    lines.push_back(frame.line);
    ids.push_back(frame.id);
    has_ids |= frame.id != 0;
    has_names |= names.back() != 0 || files.back() != 0 || frame.line != 0;
  }
  std::string bytes;
  pbf_builder<FramesField> message(bytes);
  PutUnsigned(&message, FramesField::kModule, modules);
  PutSigned(&message, FramesField::kOffset, offsets.column());
  PutUnsigned(&message, FramesField::kFunctionOffset, functions);
  if (has_ids) PutUnsigned(&message, FramesField::kId, ids);
  if (!has_names) return bytes;
  PutUnsigned(&message, FramesField::kName, names);
  PutUnsigned(&message, FramesField::kFile, files);
  PutUnsigned(&message, FramesField::kLine, lines);
  return bytes;
}

std::string EncodeNodes(const Trace& trace) {
  std::vector<uint64_t> parents;
  Deltas frames;
  for (size_t i = 0; i < trace.nodes.size(); ++i) {
    const StackNode& node = trace.nodes[i];
    parents.push_back(node.parent == kNoIndex ? 0 : i - node.parent);
    frames.Add(node.frame);
  }
  std::string bytes;
  pbf_builder<NodesField> message(bytes);
  PutUnsigned(&message, NodesField::kParent, parents);
  PutSigned(&message, NodesField::kFrame, frames.column());
  return bytes;
}

class TotalsColumn {
 public:
  void Add(const Totals& totals) {
    const int64_t now[] = {totals.cpu_ns,
                           static_cast<int64_t>(totals.allocations),
                           static_cast<int64_t>(totals.allocated_bytes),
                           static_cast<int64_t>(totals.minor_faults),
                           static_cast<int64_t>(totals.major_faults),
                           static_cast<int64_t>(totals.voluntary_switches),
                           static_cast<int64_t>(totals.involuntary_switches)};
    for (size_t i = 0; i < std::size(now); ++i) {
      column_.push_back(
          static_cast<int64_t>(static_cast<uint64_t>(now[i]) - static_cast<uint64_t>(last_[i])));
      last_[i] = now[i];
    }
  }
  const std::vector<int64_t>& column() const { return column_; }

 private:
  int64_t last_[7] = {};
  std::vector<int64_t> column_;
};

uint64_t KindOf(const Run& run) {
  return static_cast<uint64_t>(run.kind) | (run.is_complete ? 0 : kRunIsIncomplete) |
         (run.totals ? kRunHasTotals : 0) | (run.is_for_all ? kRunIsForAll : 0) |
         (run.is_running ? kRunIsRunning : 0);
}

std::string EncodeRuns(const std::vector<Run>& runs, int64_t trace_begin_ns) {
  Deltas begins(trace_begin_ns), stacks, dispatches;
  std::vector<uint64_t> durations, counts, kinds, calls, objects;
  TotalsColumn totals;
  for (const Run& run : runs) {
    begins.Add(run.begin_ns);
    durations.push_back(static_cast<uint64_t>(run.end_ns - run.begin_ns));
    counts.push_back(run.count);
    stacks.Add(run.stack == kNoIndex ? 0 : int64_t{run.stack} + 1);
    dispatches.Add(run.dispatch);
    kinds.push_back(KindOf(run));
    calls.push_back(static_cast<uint64_t>(run.call));
    objects.push_back(run.object);
    if (run.totals) totals.Add(*run.totals);
  }
  std::string bytes;
  pbf_builder<RunsField> message(bytes);
  PutSigned(&message, RunsField::kBegin, begins.column());
  PutUnsigned(&message, RunsField::kDuration, durations);
  PutUnsigned(&message, RunsField::kCount, counts);
  PutSigned(&message, RunsField::kStack, stacks.column());
  PutSigned(&message, RunsField::kDispatch, dispatches.column());
  PutUnsigned(&message, RunsField::kKind, kinds);
  PutUnsigned(&message, RunsField::kCall, calls);
  PutUnsigned(&message, RunsField::kObject, objects);
  PutSigned(&message, RunsField::kTotals, totals.column());
  return bytes;
}

std::string EncodeCalls(const std::vector<CallEvent>& events, int64_t trace_begin_ns) {
  Deltas times(trace_begin_ns);
  std::vector<uint64_t> frames;
  for (const CallEvent& event : events) {
    times.Add(event.time_ns);
    frames.push_back(uint64_t{event.frame} * 2 + (event.is_enter ? 1 : 0));
  }
  std::string bytes;
  pbf_builder<CallsField> message(bytes);
  PutSigned(&message, CallsField::kTime, times.column());
  PutUnsigned(&message, CallsField::kFrame, frames);
  return bytes;
}

std::string EncodeDispatches(const std::vector<Dispatch>& dispatches, int64_t trace_begin_ns,
                             TextNumbers* texts) {
  Deltas ids, begins(trace_begin_ns);
  std::vector<uint64_t> durations, tags;
  for (const Dispatch& dispatch : dispatches) {
    ids.Add(dispatch.id);
    begins.Add(dispatch.begin_ns);
    durations.push_back(static_cast<uint64_t>(dispatch.end_ns - dispatch.begin_ns));
    tags.push_back(texts->Of(dispatch.tag));
  }
  std::string bytes;
  pbf_builder<DispatchesField> message(bytes);
  PutSigned(&message, DispatchesField::kId, ids.column());
  PutSigned(&message, DispatchesField::kBegin, begins.column());
  PutUnsigned(&message, DispatchesField::kDuration, durations);
  PutUnsigned(&message, DispatchesField::kTag, tags);
  return bytes;
}

std::string EncodeThread(const Thread& thread, int64_t trace_begin_ns, TextNumbers* texts) {
  std::string bytes;
  pbf_builder<TraceThreadField> message(bytes);
  message.add_uint32(TraceThreadField::kTid, static_cast<uint32_t>(thread.tid));
  message.add_uint32(TraceThreadField::kName, texts->Of(thread.name));
  if (!thread.runs.empty())
    message.add_message(TraceThreadField::kRuns, EncodeRuns(thread.runs, trace_begin_ns));
  if (!thread.calls.empty())
    message.add_message(TraceThreadField::kCalls, EncodeCalls(thread.calls, trace_begin_ns));
  if (!thread.dispatches.empty()) {
    message.add_message(TraceThreadField::kDispatches,
                        EncodeDispatches(thread.dispatches, trace_begin_ns, texts));
  }
  return bytes;
}

std::string EncodeModule(const Module& module, TextNumbers* texts) {
  std::string bytes;
  pbf_builder<TraceModuleField> message(bytes);
  message.add_uint32(TraceModuleField::kPath, texts->Of(module.path));
  message.add_bytes(TraceModuleField::kBuildId, module.build_id);
  message.add_uint64(TraceModuleField::kLoadBias, module.load_bias);
  return bytes;
}

std::string EncodeLoss(const Loss& loss) {
  std::string bytes;
  pbf_builder<LossField> message(bytes);
  message.add_string(LossField::kWhat, loss.what);
  message.add_uint64(LossField::kCount, loss.count);
  message.add_string(LossField::kRemedy, loss.remedy);
  return bytes;
}

}  // namespace

std::string EncodeTrace(const Trace& trace) {
  TextNumbers texts;
  std::string bytes;
  pbf_builder<TraceMessageField> message(bytes);
  message.add_uint32(TraceMessageField::kVersion, kTraceVersion);
  message.add_uint32(TraceMessageField::kPid, static_cast<uint32_t>(trace.pid));
  message.add_string(TraceMessageField::kProcessName, trace.process_name);
  message.add_sint64(TraceMessageField::kBeginNs, trace.begin_ns);
  message.add_sint64(TraceMessageField::kEndNs, trace.end_ns);
  message.add_sint64(TraceMessageField::kWallMinusMonoNs, trace.wall_minus_mono_ns);
  message.add_sint64(TraceMessageField::kBootMinusMonoNs, trace.boot_minus_mono_ns);
  message.add_uint64(TraceMessageField::kSampleIntervalNs, static_cast<uint64_t>(trace.sample_interval_ns));
  for (const Module& module : trace.modules)
    message.add_message(TraceMessageField::kModules, EncodeModule(module, &texts));
  message.add_message(TraceMessageField::kFrames, EncodeFrames(trace, &texts));
  message.add_message(TraceMessageField::kNodes, EncodeNodes(trace));
  for (const Thread& thread : trace.threads)
    message.add_message(TraceMessageField::kThreads, EncodeThread(thread, trace.begin_ns, &texts));
  for (const Loss& loss : trace.losses) message.add_message(TraceMessageField::kLosses, EncodeLoss(loss));
  for (const std::string* text : texts.texts()) message.add_string(TraceMessageField::kTexts, *text);
  return bytes;
}

std::string PackTrace(const Trace& trace) { return base::Gzip(EncodeTrace(trace)); }

}  // namespace lagwatch::trace
