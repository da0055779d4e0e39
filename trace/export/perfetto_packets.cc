// SPDX-License-Identifier: Apache-2.0
#include "trace/export/perfetto_packets.h"

#include "base/hash.h"

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

}  // namespace lagwatch::trace
