// SPDX-License-Identifier: Apache-2.0
// The packets of one sequence of a Perfetto trace. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/export/perfetto_fields.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

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

}  // namespace lagwatch::trace
