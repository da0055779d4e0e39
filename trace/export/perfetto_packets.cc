// SPDX-License-Identifier: Apache-2.0
#include "trace/export/perfetto_packets.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "trace/export/timeline.h"
#include "trace/model/functions.h"

namespace lagwatch::trace {
namespace {

void AddClock(ProtoWriter<ClockSnapshotField>* snapshot, BuiltinClock id, int64_t time_ns) {
  ProtoWriter<ClockField> clock(*snapshot, ClockSnapshotField::kClock);
  clock.add_uint32(ClockField::kId, static_cast<uint32_t>(id));
  clock.add_uint64(ClockField::kTimestamp, static_cast<uint64_t>(time_ns));
}

void AddDefaults(PacketBuilder* packet) {
  ProtoWriter<DefaultsField> defaults(*packet, PacketField::kDefaults);
  defaults.add_uint32(DefaultsField::kTimestampClockId, static_cast<uint32_t>(BuiltinClock::kMonotonic));
  ProtoWriter<StackSampleDefaultsField> samples(defaults, DefaultsField::kStackSampleDefaults);
  samples.add_string(StackSampleDefaultsField::kSource, "lagwatch");
  ProtoWriter<PrimaryDescriptorField> weight(samples, StackSampleDefaultsField::kPrimaryDescriptor);
  weight.add_string(PrimaryDescriptorField::kName, "time");
  weight.add_int32(PrimaryDescriptorField::kUnit, kWeightInNanoseconds);
}

using InternedBuilder = ProtoWriter<InternedField>;

constexpr std::string_view kCategories[] = {"estimated", "exact", "dispatch", "wake", "sample", "loss"};
constexpr std::string_view kAnnotations[] = {"count",
                                             "gap_ns",
                                             "cpu_ns",
                                             "allocations",
                                             "allocated_bytes",
                                             "minor_faults",
                                             "major_faults",
                                             "voluntary_switches",
                                             "involuntary_switches",
                                             "call",
                                             "object",
                                             "dispatch",
                                             "estimated",
                                             "unfinished",
                                             "thread",
                                             "remedy"};

void AddNamed(InternedBuilder* data, InternedField field, uint64_t iid, std::string_view name) {
  ProtoWriter<NamedField> entry(*data, field);
  entry.add_uint64(NamedField::kIid, iid);
  entry.add_bytes(NamedField::kName, name.data(), name.size());
}

class InternedWriter {
 public:
  InternedWriter(const Timeline& timeline, PacketWriter* packets)
      : timeline_(timeline), trace_(timeline.trace), packets_(packets) {}

  void AddConstants() {
    packets_->Add(std::nullopt, [&](PacketBuilder* packet) {
      InternedBuilder data(*packet, PacketField::kInternedData);
      for (size_t i = 0; i < std::size(kCategories); ++i)
        AddNamed(&data, InternedField::kCategory, i + 1, kCategories[i]);
      for (size_t i = 0; i < std::size(kAnnotations); ++i)
        AddNamed(&data, InternedField::kAnnotationName, i + 1, kAnnotations[i]);
    });
  }

  void AddEventNames() {
    std::vector<bool> is_used(timeline_.names.size());
    for (const Track& track : timeline_.tracks)
      for (const Slice& slice : track.slices) is_used[timeline_.functions[slice.frame]] = true;
    AddEach(NumbersOf(is_used), [&](InternedBuilder* data, uint32_t function) {
      AddNamed(data, InternedField::kEventName, EventNameIid(function), timeline_.names[function]);
    });
  }

  void AddStacks(const std::vector<uint32_t>& stacks) {
    std::vector<bool> frames(trace_.frames.size()), functions(timeline_.names.size()),
        modules(trace_.modules.size());
    std::vector<uint32_t> path;
    for (uint32_t stack : stacks) {
      FindPath(trace_.nodes, trace_.frames.size(), stack, &path);
      for (uint32_t node : path) frames[trace_.nodes[node].frame] = true;
    }
    for (uint32_t frame : NumbersOf(frames)) {
      functions[timeline_.functions[frame]] = true;
      if (trace_.frames[frame].module < modules.size()) modules[trace_.frames[frame].module] = true;
    }
    AddEach(NumbersOf(functions), [&](InternedBuilder* data, uint32_t function) {
      AddNamed(data, InternedField::kFunctionName, uint64_t{function} + 1, timeline_.names[function]);
    });
    AddEach(NumbersOf(modules), [&](InternedBuilder* data, uint32_t module) { AddModule(data, module); });
    AddEach(NumbersOf(frames), [&](InternedBuilder* data, uint32_t frame) { AddFrame(data, frame); });
    AddEach(stacks, [&](InternedBuilder* data, uint32_t stack) { AddStack(data, stack, &path); });
  }

 private:
  static std::vector<uint32_t> NumbersOf(const std::vector<bool>& is_used) {
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < is_used.size(); ++i)
      if (is_used[i]) numbers.push_back(i);
    return numbers;
  }

  // In packets of a size that readers like.
  template <typename Put>
  void AddEach(const std::vector<uint32_t>& numbers, Put put) {
    constexpr size_t kPerPacket = 256;
    for (size_t begin = 0; begin < numbers.size(); begin += kPerPacket) {
      packets_->Add(std::nullopt, [&](PacketBuilder* packet) {
        InternedBuilder data(*packet, PacketField::kInternedData);
        for (size_t i = begin; i < std::min(begin + kPerPacket, numbers.size()); ++i) put(&data, numbers[i]);
      });
    }
  }

  void AddModule(InternedBuilder* data, uint32_t index) {
    const Module& module = trace_.modules[index];
    const uint64_t iid = uint64_t{index} + 1;
    AddNamed(data, InternedField::kMappingPath, iid, OneLine(module.path));
    if (!module.build_id.empty()) AddNamed(data, InternedField::kBuildId, iid, module.build_id);
    ProtoWriter<PerfettoMappingField> mapping(*data, InternedField::kMapping);
    mapping.add_uint64(PerfettoMappingField::kIid, iid);
    if (!module.build_id.empty()) mapping.add_uint64(PerfettoMappingField::kBuildId, iid);
    mapping.add_uint64(PerfettoMappingField::kStart, module.load_bias);
    mapping.add_uint64(PerfettoMappingField::kPathId, iid);
  }

  void AddFrame(InternedBuilder* data, uint32_t index) {
    const NamedFrame& frame = trace_.frames[index];
    const uint64_t source_iid = frame.file.empty() ? 0 : SourceIid(data, frame.file);
    ProtoWriter<PerfettoFrameField> entry(*data, InternedField::kFrame);
    entry.add_uint64(PerfettoFrameField::kIid, uint64_t{index} + 1);
    entry.add_uint64(PerfettoFrameField::kFunctionNameId, uint64_t{timeline_.functions[index]} + 1);
    if (frame.module < trace_.modules.size()) {
      entry.add_uint64(PerfettoFrameField::kMappingId, uint64_t{frame.module} + 1);
      entry.add_uint64(PerfettoFrameField::kRelativePc, frame.offset);
    }
    if (source_iid != 0) entry.add_uint64(PerfettoFrameField::kSourcePathIid, source_iid);
    if (frame.line != 0) entry.add_uint32(PerfettoFrameField::kLine, frame.line);
  }

  uint64_t SourceIid(InternedBuilder* data, const std::string& file) {
    const auto [found, is_new] = source_iids_.try_emplace(file, source_iids_.size() + 1);
    if (is_new) AddNamed(data, InternedField::kSourcePath, found->second, OneLine(file));
    return found->second;
  }

  // The outermost frame comes first.
  void AddStack(InternedBuilder* data, uint32_t stack, std::vector<uint32_t>* path) {
    FindPath(trace_.nodes, trace_.frames.size(), stack, path);
    ProtoWriter<CallstackField> entry(*data, InternedField::kCallstack);
    entry.add_uint64(CallstackField::kIid, CallstackIid(stack));
    for (uint32_t node : *path)
      entry.add_uint64(CallstackField::kFrameId, uint64_t{trace_.nodes[node].frame} + 1);
  }

  const Timeline& timeline_;
  const Trace& trace_;
  PacketWriter* packets_;
  std::unordered_map<std::string, uint64_t> source_iids_;
};

}  // namespace

PacketWriter::PacketWriter(const Trace& trace) : root_(bytes_) {
  // Traces may be joined by appending one to the other: process and time distinguish their sequences.
  const uint64_t hash =
      base::HashWord(static_cast<uint64_t>(trace.begin_ns),
                     base::HashWord(static_cast<uint64_t>(trace.pid), base::kFnvOffsetBasis));
  sequence_id_ = static_cast<uint32_t>(hash) | 1;

  PacketBuilder packet(root_, TraceField::kPacket);
  packet.add_uint32(PacketField::kSequenceId, sequence_id_);
  packet.add_uint32(PacketField::kSequenceFlags, kStateCleared | kNeedsState);
  if (!trace.losses.empty()) packet.add_bool(PacketField::kPreviousPacketDropped, true);
  AddDefaults(&packet);
  ProtoWriter<ClockSnapshotField> snapshot(packet, PacketField::kClockSnapshot);
  AddClock(&snapshot, BuiltinClock::kMonotonic, trace.end_ns);
  AddClock(&snapshot, BuiltinClock::kBoottime, trace.end_ns + trace.boot_minus_mono_ns);
  AddClock(&snapshot, BuiltinClock::kRealtime, trace.end_ns + trace.wall_minus_mono_ns);
}

uint64_t TrackUuid(int32_t pid, TrackKind kind, uint64_t number) {
  const uint64_t seed = base::HashWord(static_cast<uint64_t>(kind), base::kFnvOffsetBasis);
  return base::HashWord(number, base::HashWord(static_cast<uint64_t>(pid), seed));
}

void AddProcessTrack(const Trace& trace, PacketWriter* packets) {
  packets->Add(std::nullopt, [&](PacketBuilder* packet) {
    ProtoWriter<TrackDescriptorField> track(*packet, PacketField::kTrackDescriptor);
    track.add_uint64(TrackDescriptorField::kUuid, TrackUuid(trace.pid, TrackKind::kProcess, 0));
    ProtoWriter<ProcessField> process(track, TrackDescriptorField::kProcess);
    process.add_int32(ProcessField::kPid, trace.pid);
    process.add_string(ProcessField::kName, OneLine(trace.process_name));
  });
}

void AddThreadTrack(const Trace& trace, const Thread& thread, PacketWriter* packets) {
  packets->Add(std::nullopt, [&](PacketBuilder* packet) {
    ProtoWriter<TrackDescriptorField> track(*packet, PacketField::kTrackDescriptor);
    track.add_uint64(TrackDescriptorField::kUuid,
                     TrackUuid(trace.pid, TrackKind::kThread, static_cast<uint64_t>(thread.tid)));
    track.add_uint64(TrackDescriptorField::kParentUuid, TrackUuid(trace.pid, TrackKind::kProcess, 0));
    track.add_bool(TrackDescriptorField::kDisallowMergingWithSystemTracks, true);
    ProtoWriter<ThreadField> entry(track, TrackDescriptorField::kThread);
    entry.add_int32(ThreadField::kPid, trace.pid);
    entry.add_int32(ThreadField::kTid, thread.tid);
    entry.add_string(ThreadField::kName, ThreadName(thread));
  });
}

void AddInternedData(const Timeline& timeline, const std::vector<uint32_t>& stacks, PacketWriter* packets) {
  InternedWriter writer(timeline, packets);
  writer.AddConstants();
  writer.AddEventNames();
  writer.AddStacks(stacks);
}

}  // namespace lagwatch::trace
