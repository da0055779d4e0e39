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

// A field of a message, and its reader, which takes the message.
template <typename Field, typename Read>
struct FieldReader {
  Field field;
  Read read;
};
template <typename Field, typename Read>
FieldReader<Field, Read> On(Field field, Read read) {
  return {field, read};
}

// Fields without a reader are skipped.
template <typename Field, typename... Reads>
void ReadMessage(protozero::data_view bytes, const FieldReader<Field, Reads>&... readers) {
  pbf_message<Field> message(bytes);
  while (message.next()) {
    const bool is_read = ((message.tag() == readers.field && (readers.read(&message), true)) || ...);
    if (!is_read) message.skip();
  }
}

template <typename Field>
auto Unsigned(Field field, Column* column) {
  return On(field, [column](pbf_message<Field>* message) {
    const auto range = message->get_packed_uint64();
    column->assign(range.begin(), range.end());
  });
}

// The sums of the differences, from `first` on; in unsigned arithmetic, as bytes from outside may overflow.
template <typename Field>
auto Differences(Field field, Column* column, int64_t first = 0) {
  return On(field, [column, first](pbf_message<Field>* message) {
    column->clear();
    auto sum = static_cast<uint64_t>(first);
    for (int64_t difference : message->get_packed_sint64()) {
      sum += static_cast<uint64_t>(difference);
      column->push_back(sum);
    }
  });
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
  ReadMessage(bytes,
              On(TraceModuleField::kPath, [&](auto* path) { module.path = parts.Text(path->get_uint32()); }),
              On(TraceModuleField::kBuildId, [&](auto* id) { module.build_id = id->get_bytes(); }),
              On(TraceModuleField::kLoadBias, [&](auto* bias) { module.load_bias = bias->get_uint64(); }));
  return module;
}

std::vector<NamedFrame> ReadFrames(const Parts& parts, size_t module_count) {
  Column modules, offsets, functions, names, files, lines, ids;
  ReadMessage(parts.frames, Unsigned(FramesField::kModule, &modules),
              Differences(FramesField::kOffset, &offsets), Unsigned(FramesField::kFunctionOffset, &functions),
              Unsigned(FramesField::kName, &names), Unsigned(FramesField::kFile, &files),
              Unsigned(FramesField::kLine, &lines), Unsigned(FramesField::kId, &ids));
  RequireLength(modules.size(), offsets, functions);
  if (!names.empty()) RequireLength(modules.size(), names, files, lines);
  if (!ids.empty()) RequireLength(modules.size(), ids);
  parts.room->TakeElements(modules.size());
  std::vector<NamedFrame> frames(modules.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].module = IndexFromOne(modules[i], module_count);
    frames[i].offset = offsets[i];
    frames[i].function_offset = functions[i];
    if (!ids.empty()) frames[i].id = ids[i];
    if (names.empty()) continue;
    frames[i].name = parts.Text(names[i]);
    frames[i].file = parts.Text(files[i]);
    frames[i].line = Narrow(lines[i]);
  }
  return frames;
}

std::vector<StackNode> ReadNodes(const Parts& parts, size_t frame_count) {
  Column parents, frames;
  ReadMessage(parts.nodes, Unsigned(NodesField::kParent, &parents), Differences(NodesField::kFrame, &frames));
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
  ReadMessage(bytes, Differences(RunsField::kBegin, &columns.begins, trace_begin_ns),
              Unsigned(RunsField::kDuration, &columns.durations),
              Unsigned(RunsField::kCount, &columns.counts), Differences(RunsField::kStack, &columns.stacks),
              Differences(RunsField::kDispatch, &columns.dispatches),
              Unsigned(RunsField::kKind, &columns.kinds), Unsigned(RunsField::kCall, &columns.calls),
              Unsigned(RunsField::kObject, &columns.objects), On(RunsField::kTotals, [&](auto* totals) {
                const auto range = totals->get_packed_sint64();
                columns.totals.assign(range.begin(), range.end());
              }));
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
  ReadMessage(bytes, Differences(CallsField::kTime, &times, trace_begin_ns),
              Unsigned(CallsField::kFrame, &frames));
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
  ReadMessage(bytes, Differences(DispatchesField::kId, &ids),
              Differences(DispatchesField::kBegin, &begins, trace_begin_ns),
              Unsigned(DispatchesField::kDuration, &durations), Unsigned(DispatchesField::kTag, &tags));
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
  ReadMessage(
      bytes,
      On(TraceThreadField::kTid, [&](auto* tid) { thread.tid = static_cast<int32_t>(tid->get_uint32()); }),
      On(TraceThreadField::kName, [&](auto* name) { thread.name = parts.Text(name->get_uint32()); }),
      On(TraceThreadField::kRuns,
         [&](auto* runs) {
           thread.runs = ReadRuns(runs->get_view(), trace.begin_ns, trace.nodes.size(), parts.room);
         }),
      On(TraceThreadField::kCalls,
         [&](auto* calls) {
           thread.calls = ReadCalls(calls->get_view(), trace.begin_ns, trace.frames.size(), parts.room);
         }),
      On(TraceThreadField::kDispatches, [&](auto* dispatches) {
        thread.dispatches = ReadDispatches(dispatches->get_view(), trace.begin_ns, parts);
      }));
  return thread;
}

Loss ReadLoss(protozero::data_view bytes) {
  Loss loss;
  ReadMessage(bytes, On(LossField::kWhat, [&](auto* what) { loss.what = what->get_string(); }),
              On(LossField::kCount, [&](auto* count) { loss.count = count->get_uint64(); }),
              On(LossField::kRemedy, [&](auto* remedy) { loss.remedy = remedy->get_string(); }));
  return loss;
}

// All but the parts that refer to others.
Parts ReadHeader(std::string_view bytes, Trace* trace, Room* room) {
  Parts parts(room);
  uint32_t version = 0;
  using Message = pbf_message<TraceMessageField>;
  const auto element = [&](TraceMessageField field, auto read) {
    return On(field, [room, read](Message* message) {
      room->TakeElements(1);
      read(message);
    });
  };
  ReadMessage(
      {bytes.data(), bytes.size()},
      On(TraceMessageField::kVersion, [&](Message* message) { version = message->get_uint32(); }),
      On(TraceMessageField::kPid,
         [&](Message* message) { trace->pid = static_cast<int32_t>(message->get_uint32()); }),
      On(TraceMessageField::kProcessName,
         [&](Message* message) { trace->process_name = message->get_string(); }),
      On(TraceMessageField::kBeginNs,
         [&](Message* message) { trace->begin_ns = TimeOf(static_cast<uint64_t>(message->get_sint64())); }),
      On(TraceMessageField::kEndNs,
         [&](Message* message) { trace->end_ns = TimeOf(static_cast<uint64_t>(message->get_sint64())); }),
      On(TraceMessageField::kWallMinusMonoNs,
         [&](Message* message) { trace->wall_minus_mono_ns = ClockDifference(message->get_sint64()); }),
      On(TraceMessageField::kBootMinusMonoNs,
         [&](Message* message) { trace->boot_minus_mono_ns = ClockDifference(message->get_sint64()); }),
      On(TraceMessageField::kSampleIntervalNs,
         [&](Message* message) { trace->sample_interval_ns = IntervalOf(message->get_uint64()); }),
      On(TraceMessageField::kFrames, [&](Message* message) { parts.frames = message->get_view(); }),
      On(TraceMessageField::kNodes, [&](Message* message) { parts.nodes = message->get_view(); }),
      element(TraceMessageField::kTexts,
              [&](Message* message) { parts.texts.push_back(message->get_string()); }),
      element(TraceMessageField::kModules,
              [&](Message* message) { parts.modules.push_back(message->get_view()); }),
      element(TraceMessageField::kThreads,
              [&](Message* message) { parts.threads.push_back(message->get_view()); }),
      element(TraceMessageField::kLosses,
              [&](Message* message) { trace->losses.push_back(ReadLoss(message->get_view())); }));
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
