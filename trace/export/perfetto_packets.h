// SPDX-License-Identifier: Apache-2.0
// The packets of one sequence of a Perfetto trace, and the used part of Perfetto's schema
// (https://github.com/google/perfetto/tree/main/protos/perfetto/trace). Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/export/proto.h"
#include "trace/export/timeline.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

enum class TraceField : FieldNumber { kPacket = 1 };
enum class PacketField : FieldNumber {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kPreviousPacketDropped = 42,
  kDefaults = 59,
  kTrackDescriptor = 60,
  kStackSample = 135,
};
enum class DefaultsField : FieldNumber { kTimestampClockId = 58, kStackSampleDefaults = 100 };
enum class ClockSnapshotField : FieldNumber { kClock = 1 };
enum class ClockField : FieldNumber { kId = 1, kTimestamp = 2 };
enum class TrackDescriptorField : FieldNumber {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8,
  kDisallowMergingWithSystemTracks = 9,
};
enum class ProcessField : FieldNumber { kPid = 1, kName = 6 };
enum class ThreadField : FieldNumber { kPid = 1, kTid = 2, kName = 5 };
enum class CounterField : FieldNumber { kUnit = 3 };
enum class TrackEventField : FieldNumber {
  kCategoryIid = 3,
  kDebugAnnotation = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kCategory = 22,
  kName = 23,
  kCounterValue = 30,
  kDoubleCounterValue = 44,
  kFlowId = 47,
  kTerminatingFlowId = 48,
  kCallstackIid = 56,
  kCallstackWeight = 57,
};
enum class AnnotationField : FieldNumber {
  kNameIid = 1,
  kBool = 2,
  kUint = 3,
  kInt = 4,
  kDouble = 5,
  kText = 6,
  kPointer = 7,
  kName = 10,
};
enum class InternedField : FieldNumber {
  kCategory = 1,
  kEventName = 2,
  kAnnotationName = 3,
  kFunctionName = 5,
  kFrame = 6,
  kCallstack = 7,
  kBuildId = 16,
  kMappingPath = 17,
  kSourcePath = 18,
  kMapping = 19,
};
enum class NamedField : FieldNumber { kIid = 1, kName = 2 };
enum class PerfettoFrameField : FieldNumber {
  kIid = 1,
  kFunctionNameId = 2,
  kMappingId = 3,
  kRelativePc = 4,
  kSourcePathIid = 5,
  kLine = 6,
};
enum class CallstackField : FieldNumber { kIid = 1, kFrameId = 2 };
enum class PerfettoMappingField : FieldNumber { kIid = 1, kBuildId = 2, kStart = 4, kPathId = 7 };
enum class StackSampleField : FieldNumber { kTask = 1, kCallstackIid = 6, kPrimaryWeight = 11 };
enum class TaskField : FieldNumber { kPid = 2, kTid = 3 };
enum class StackSampleDefaultsField : FieldNumber { kSource = 1, kPrimaryDescriptor = 2 };
enum class PrimaryDescriptorField : FieldNumber { kName = 2, kUnit = 3 };

enum class EventType : int32_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
enum class CounterUnit : int32_t { kUnspecified = 0, kNanoseconds = 1, kBytes = 3 };
enum class BuiltinClock : uint32_t { kRealtime = 1, kMonotonic = 3, kBoottime = 6 };
inline constexpr int32_t kWeightInNanoseconds = 1;

using PacketBuilder = ProtoWriter<PacketField>;
using EventBuilder = ProtoWriter<TrackEventField>;

class PacketWriter {
 public:
  // Begins with the clocks and the sequence's defaults, and whether something is missing.
  explicit PacketWriter(const Trace& trace);
  PacketWriter(const PacketWriter&) = delete;
  PacketWriter& operator=(const PacketWriter&) = delete;

  // A packet that `fill` completes.
  template <typename Fill>
  void Add(std::optional<int64_t> time_ns, Fill fill) {
    PacketBuilder packet(root_, TraceField::kPacket);
    if (time_ns.has_value()) packet.add_uint64(PacketField::kTimestamp, static_cast<uint64_t>(*time_ns));
    packet.add_uint32(PacketField::kSequenceId, sequence_id_);
    packet.add_uint32(PacketField::kSequenceFlags, kNeedsState);
    fill(&packet);
  }

  // An event of a track, which `fill` completes.
  template <typename Fill>
  void AddEvent(EventType type, uint64_t track_uuid, int64_t time_ns, Fill fill) {
    Add(time_ns, [&](PacketBuilder* packet) {
      EventBuilder event(*packet, PacketField::kTrackEvent);
      event.add_int32(TrackEventField::kType, static_cast<int32_t>(type));
      event.add_uint64(TrackEventField::kTrackUuid, track_uuid);
      fill(&event);
    });
  }

  std::string Take() { return std::move(bytes_); }

 private:
  static constexpr uint32_t kStateCleared = 1;
  static constexpr uint32_t kNeedsState = 2;

  std::string bytes_;
  ProtoWriter<TraceField> root_;
  uint32_t sequence_id_;
};

enum class TrackKind : uint64_t {
  kProcess,
  kThread,
  kBesideCalls,
  kDispatches,
  kCpu,
  kAllocated,
  kSamples,
  kNamedCounter,
};

// The same for all traces of the process. `number` distinguishes the tracks of one kind, such as by thread.
uint64_t TrackUuid(int32_t pid, TrackKind kind, uint64_t number);
void AddProcessTrack(const Trace& trace, PacketWriter* packets);
void AddThreadTrack(const Trace& trace, const Thread& thread, PacketWriter* packets);

// The interned names of a trace, which its packets refer to by number.
enum class Category : uint64_t { kEstimated = 1, kExact, kDispatch, kWake, kSample, kLoss };

enum class Annotation : uint64_t {
  kCount = 1,
  kGapNs,
  kCpuNs,
  kAllocations,
  kAllocatedBytes,
  kMinorFaults,
  kMajorFaults,
  kVoluntarySwitches,
  kInvoluntarySwitches,
  kCall,
  kObject,
  kDispatch,
  kEstimated,
  kUnfinished,
  kThread,
  kRemedy,
};

// Of a function as a slice's name, and of a stack that ends in `node`.
inline uint64_t EventNameIid(uint32_t function) { return uint64_t{function} + 1; }
inline uint64_t CallstackIid(uint32_t node) { return uint64_t{node} + 1; }

// All of the above; of functions those that slices have, of stacks those in `stacks`, each once.
void AddInternedData(const Timeline& timeline, const std::vector<uint32_t>& stacks, PacketWriter* packets);

}  // namespace lagwatch::trace
