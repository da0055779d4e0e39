// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>
#include <vector>

#include "base/gzip/gzip.h"
#include "report/format/guarded_read.h"
#include "trace/format/trace_codec.h"
#include "trace/format/trace_fields.h"

namespace lagwatch::trace {
namespace {

using protozero::pbf_message;
using report::SchemaError;
using Column = std::vector<uint64_t>;

void Require(bool holds, const char* otherwise) {
  if (!holds) throw SchemaError{otherwise};
}

template <typename Field>
Column ReadUnsigned(pbf_message<Field>* message) {
  const auto range = message->get_packed_uint64();
  return {range.begin(), range.end()};
}

// The sums of the differences, from `first` on; in unsigned arithmetic, as bytes from outside may overflow.
template <typename Field>
Column ReadDeltas(pbf_message<Field>* message, int64_t first = 0) {
  Column column;
  auto sum = static_cast<uint64_t>(first);
  for (int64_t difference : message->get_packed_sint64()) {
    sum += static_cast<uint64_t>(difference);
    column.push_back(sum);
  }
  return column;
}

template <typename... Columns>
void RequireLength(size_t length, const Columns&... columns) {
  Require(((columns.size() == length) && ...), "its columns differ in length");
}

uint32_t Narrow(uint64_t value) {
  Require(value <= UINT32_MAX, "a number is too large");
  return static_cast<uint32_t>(value);
}

uint32_t IndexFromOne(uint64_t number, size_t count) {
  Require(number <= count, "an index is out of range");
  return number == 0 ? kNoIndex : static_cast<uint32_t>(number - 1);
}

// Of a clock that began with the machine, or used by a thread: sums of a few do not overflow.
int64_t TimeOf(uint64_t ns) {
  constexpr int64_t kMostNs = int64_t{1} << 58;  // nine years
  const auto time_ns = static_cast<int64_t>(ns);
  Require(time_ns >= -kMostNs && time_ns <= kMostNs, "a time is out of range");
  return time_ns;
}

int64_t EndOf(uint64_t begin, uint64_t duration) {
  const int64_t end_ns = TimeOf(begin + duration);
  Require(end_ns >= TimeOf(begin), "a time is out of range");
  return end_ns;
}

// CLOCK_REALTIME counts from 1970.
int64_t ClockDifference(int64_t ns) {
  constexpr int64_t kMostNs = int64_t{1} << 62;
  Require(ns >= -kMostNs && ns <= kMostNs, "a clock is out of range");
  return ns;
}

int64_t IntervalOf(uint64_t ns) {
  constexpr uint64_t kMostNs = uint64_t{1} << 42;  // an hour
  Require(ns <= kMostNs, "its interval is out of range");
  return static_cast<int64_t>(ns);
}

// The remainder of the limits.
class Room {
 public:
  explicit Room(const DecodeLimits& limits) : left_(limits) {}

  void TakeElements(size_t count) {
    Require(count <= left_.element_count, "it has too many elements");
    left_.element_count -= count;
  }
  void TakeText(size_t size_bytes) {
    Require(size_bytes <= left_.text_bytes, "its texts are too long");
    left_.text_bytes -= size_bytes;
  }

 private:
  DecodeLimits left_;
};

// Bytes of parts, taken apart when all of the message is known.
struct Parts {
  explicit Parts(Room* its_room) : room(its_room) {}

  Room* room;
  std::vector<std::string> texts{std::string()};
  std::vector<protozero::data_view> modules;
  std::vector<protozero::data_view> threads;
  protozero::data_view frames;
  protozero::data_view nodes;

  const std::string& Text(uint64_t number) const {
    Require(number < texts.size(), "the number of a text is out of range");
    room->TakeText(texts[number].size());
    return texts[number];
  }
};

Module ReadModule(protozero::data_view bytes, const Parts& parts) {
  Module module;
  pbf_message<TraceModuleField> message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case TraceModuleField::kPath:
        module.path = parts.Text(message.get_uint32());
        break;
      case TraceModuleField::kBuildId:
        module.build_id = message.get_bytes();
        break;
      case TraceModuleField::kLoadBias:
        module.load_bias = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return module;
}

std::vector<NamedFrame> ReadFrames(const Parts& parts, size_t module_count) {
  Column modules, offsets, functions, names, files, lines;
  pbf_message<FramesField> message(parts.frames);
  while (message.next()) {
    switch (message.tag()) {
      case FramesField::kModule:
        modules = ReadUnsigned(&message);
        break;
      case FramesField::kOffset:
        offsets = ReadDeltas(&message);
        break;
      case FramesField::kFunctionOffset:
        functions = ReadUnsigned(&message);
        break;
      case FramesField::kName:
        names = ReadUnsigned(&message);
        break;
      case FramesField::kFile:
        files = ReadUnsigned(&message);
        break;
      case FramesField::kLine:
        lines = ReadUnsigned(&message);
        break;
      default:
        message.skip();
    }
  }
  RequireLength(modules.size(), offsets, functions);
  if (!names.empty()) RequireLength(modules.size(), names, files, lines);
  parts.room->TakeElements(modules.size());
  std::vector<NamedFrame> frames(modules.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].module = IndexFromOne(modules[i], module_count);
    frames[i].offset = offsets[i];
    frames[i].function_offset = functions[i];
    if (names.empty()) continue;
    frames[i].name = parts.Text(names[i]);
    frames[i].file = parts.Text(files[i]);
    frames[i].line = Narrow(lines[i]);
  }
  return frames;
}

std::vector<StackNode> ReadNodes(const Parts& parts, size_t frame_count) {
  Column parents, frames;
  pbf_message<NodesField> message(parts.nodes);
  while (message.next()) {
    switch (message.tag()) {
      case NodesField::kParent:
        parents = ReadUnsigned(&message);
        break;
      case NodesField::kFrame:
        frames = ReadDeltas(&message);
        break;
      default:
        message.skip();
    }
  }
  RequireLength(parents.size(), frames);
  parts.room->TakeElements(parents.size());
  std::vector<StackNode> nodes(parents.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Require(parents[i] <= i && frames[i] < frame_count, "an index is out of range");
    nodes[i] = {parents[i] == 0 ? kNoIndex : static_cast<uint32_t>(i - parents[i]), Narrow(frames[i])};
  }
  return nodes;
}

class TotalsReader {
 public:
  explicit TotalsReader(const std::vector<int64_t>& column) : column_(column) {}
  Totals Next() {
    Require(at_ + 7 <= column_.size(), "its totals end too early");
    for (uint64_t& sum : sums_) sum += static_cast<uint64_t>(column_[at_++]);
    return {TimeOf(sums_[0]), sums_[1], sums_[2], sums_[3], sums_[4], sums_[5], sums_[6]};
  }

 private:
  const std::vector<int64_t>& column_;
  size_t at_ = 0;
  uint64_t sums_[7] = {};
};

struct RunColumns {
  Column begins, durations, counts, stacks, dispatches, kinds, calls, objects;
  std::vector<int64_t> totals;
};

RunColumns ReadRunColumns(protozero::data_view bytes, int64_t trace_begin_ns) {
  RunColumns columns;
  pbf_message<RunsField> message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case RunsField::kBegin:
        columns.begins = ReadDeltas(&message, trace_begin_ns);
        break;
      case RunsField::kDuration:
        columns.durations = ReadUnsigned(&message);
        break;
      case RunsField::kCount:
        columns.counts = ReadUnsigned(&message);
        break;
      case RunsField::kStack:
        columns.stacks = ReadDeltas(&message);
        break;
      case RunsField::kDispatch:
        columns.dispatches = ReadDeltas(&message);
        break;
      case RunsField::kKind:
        columns.kinds = ReadUnsigned(&message);
        break;
      case RunsField::kCall:
        columns.calls = ReadUnsigned(&message);
        break;
      case RunsField::kObject:
        columns.objects = ReadUnsigned(&message);
        break;
      case RunsField::kTotals: {
        const auto range = message.get_packed_sint64();
        columns.totals.assign(range.begin(), range.end());
        break;
      }
      default:
        message.skip();
    }
  }
  return columns;
}

std::vector<Run> ReadRuns(protozero::data_view bytes, int64_t trace_begin_ns, size_t node_count, Room* room) {
  const RunColumns columns = ReadRunColumns(bytes, trace_begin_ns);
  const size_t count = columns.begins.size();
  RequireLength(count, columns.durations, columns.counts, columns.stacks, columns.dispatches, columns.kinds,
                columns.calls, columns.objects);
  room->TakeElements(count);
  TotalsReader totals(columns.totals);
  std::vector<Run> runs(count);
  for (size_t i = 0; i < count; ++i) {
    Run& run = runs[i];
    run.begin_ns = TimeOf(columns.begins[i]);
    run.end_ns = EndOf(columns.begins[i], columns.durations[i]);
    run.count = Narrow(columns.counts[i]);
    run.stack = IndexFromOne(columns.stacks[i], node_count);
    run.dispatch = Narrow(columns.dispatches[i]);
    run.kind = static_cast<RunKind>(columns.kinds[i] & kRunKindMask);
    run.is_complete = (columns.kinds[i] & kRunIsIncomplete) == 0;
    run.is_for_all = (columns.kinds[i] & kRunIsForAll) != 0;
    run.is_running = (columns.kinds[i] & kRunIsRunning) != 0;
    run.call = columns.calls[i] <= static_cast<uint64_t>(CallKind::kUser)
                   ? static_cast<CallKind>(columns.calls[i])
                   : CallKind::kNone;
    run.object = columns.objects[i];
    if ((columns.kinds[i] & kRunHasTotals) != 0) run.totals = totals.Next();
  }
  return runs;
}

std::vector<CallEvent> ReadCalls(protozero::data_view bytes, int64_t trace_begin_ns, size_t frame_count,
                                 Room* room) {
  Column times, frames;
  pbf_message<CallsField> message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case CallsField::kTime:
        times = ReadDeltas(&message, trace_begin_ns);
        break;
      case CallsField::kFrame:
        frames = ReadUnsigned(&message);
        break;
      default:
        message.skip();
    }
  }
  RequireLength(times.size(), frames);
  room->TakeElements(times.size());
  std::vector<CallEvent> events(times.size());
  for (size_t i = 0; i < events.size(); ++i) {
    Require(frames[i] / 2 < frame_count, "an index is out of range");
    events[i] = {TimeOf(times[i]), static_cast<uint32_t>(frames[i] / 2), frames[i] % 2 != 0};
  }
  return events;
}

std::vector<Dispatch> ReadDispatches(protozero::data_view bytes, int64_t trace_begin_ns, const Parts& parts) {
  Column ids, begins, durations, tags;
  pbf_message<DispatchesField> message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case DispatchesField::kId:
        ids = ReadDeltas(&message);
        break;
      case DispatchesField::kBegin:
        begins = ReadDeltas(&message, trace_begin_ns);
        break;
      case DispatchesField::kDuration:
        durations = ReadUnsigned(&message);
        break;
      case DispatchesField::kTag:
        tags = ReadUnsigned(&message);
        break;
      default:
        message.skip();
    }
  }
  RequireLength(ids.size(), begins, durations, tags);
  parts.room->TakeElements(ids.size());
  std::vector<Dispatch> dispatches(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    dispatches[i] = {Narrow(ids[i]), TimeOf(begins[i]), EndOf(begins[i], durations[i]), parts.Text(tags[i])};
  }
  return dispatches;
}

Thread ReadThread(protozero::data_view bytes, const Trace& trace, const Parts& parts) {
  Thread thread;
  pbf_message<TraceThreadField> message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case TraceThreadField::kTid:
        thread.tid = static_cast<int32_t>(message.get_uint32());
        break;
      case TraceThreadField::kName:
        thread.name = parts.Text(message.get_uint32());
        break;
      case TraceThreadField::kRuns:
        thread.runs = ReadRuns(message.get_view(), trace.begin_ns, trace.nodes.size(), parts.room);
        break;
      case TraceThreadField::kCalls:
        thread.calls = ReadCalls(message.get_view(), trace.begin_ns, trace.frames.size(), parts.room);
        break;
      case TraceThreadField::kDispatches:
        thread.dispatches = ReadDispatches(message.get_view(), trace.begin_ns, parts);
        break;
      default:
        message.skip();
    }
  }
  return thread;
}

Loss ReadLoss(protozero::data_view bytes) {
  Loss loss;
  pbf_message<LossField> message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case LossField::kWhat:
        loss.what = message.get_string();
        break;
      case LossField::kCount:
        loss.count = message.get_uint64();
        break;
      case LossField::kRemedy:
        loss.remedy = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return loss;
}

// All but the parts that refer to others.
Parts ReadHeader(std::string_view bytes, Trace* trace, Room* room) {
  Parts parts(room);
  uint32_t version = 0;
  pbf_message<TraceMessageField> message(bytes.data(), bytes.size());
  while (message.next()) {
    switch (message.tag()) {
      case TraceMessageField::kVersion:
        version = message.get_uint32();
        break;
      case TraceMessageField::kPid:
        trace->pid = static_cast<int32_t>(message.get_uint32());
        break;
      case TraceMessageField::kProcessName:
        trace->process_name = message.get_string();
        break;
      case TraceMessageField::kBeginNs:
        trace->begin_ns = TimeOf(static_cast<uint64_t>(message.get_sint64()));
        break;
      case TraceMessageField::kEndNs:
        trace->end_ns = TimeOf(static_cast<uint64_t>(message.get_sint64()));
        break;
      case TraceMessageField::kWallMinusMonoNs:
        trace->wall_minus_mono_ns = ClockDifference(message.get_sint64());
        break;
      case TraceMessageField::kBootMinusMonoNs:
        trace->boot_minus_mono_ns = ClockDifference(message.get_sint64());
        break;
      case TraceMessageField::kSampleIntervalNs:
        trace->sample_interval_ns = IntervalOf(message.get_uint64());
        break;
      case TraceMessageField::kTexts:
        room->TakeElements(1);
        parts.texts.push_back(message.get_string());
        break;
      case TraceMessageField::kModules:
        room->TakeElements(1);
        parts.modules.push_back(message.get_view());
        break;
      case TraceMessageField::kFrames:
        parts.frames = message.get_view();
        break;
      case TraceMessageField::kNodes:
        parts.nodes = message.get_view();
        break;
      case TraceMessageField::kThreads:
        room->TakeElements(1);
        parts.threads.push_back(message.get_view());
        break;
      case TraceMessageField::kLosses:
        room->TakeElements(1);
        trace->losses.push_back(ReadLoss(message.get_view()));
        break;
      default:
        message.skip();
    }
  }
  Require(version == kTraceVersion, "its version is unknown to this program");
  return parts;
}

}  // namespace

base::Result<Trace> DecodeTrace(std::string_view bytes, const DecodeLimits& limits) {
  return report::Guarded("the trace", [&] {
    Trace trace;
    Room room(limits);
    const Parts parts = ReadHeader(bytes, &trace, &room);
    for (protozero::data_view module : parts.modules) trace.modules.push_back(ReadModule(module, parts));
    trace.frames = ReadFrames(parts, trace.modules.size());
    trace.nodes = ReadNodes(parts, trace.frames.size());
    for (protozero::data_view thread : parts.threads)
      trace.threads.push_back(ReadThread(thread, trace, parts));
    return trace;
  });
}

base::Result<Trace> UnpackTrace(std::string_view gzip, size_t limit_bytes) {
  const auto bytes = base::Gunzip(gzip, limit_bytes);
  if (bytes.ok()) return DecodeTrace(*bytes);
  if (bytes.status().code() == base::StatusCode::kTooLarge) {
    return base::Status(base::StatusCode::kTooLarge,
                        "the trace is larger than " + std::to_string(limit_bytes) + " bytes");
  }
  return base::Status(base::StatusCode::kInvalid,
                      "this is not a trace of lagwatch (*.lwtrace), or it is cut short");
}

}  // namespace lagwatch::trace
