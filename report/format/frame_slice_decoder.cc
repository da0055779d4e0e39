// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "report/format/guarded_read.h"
#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

// Fills from the front; what is more than there is room for is skipped.
template <typename Field, size_t kCount>
void ReadCounts(pbf_message<Field>* message, std::array<uint64_t, kCount>* counts) {
  size_t index = 0;
  for (uint64_t value : message->get_packed_uint64()) {
    if (index < kCount) (*counts)[index++] = value;
  }
}

}  // namespace

base::Result<FrameSlice> DecodeFrameSlice(std::string_view bytes) {
  return Guarded("the frames' record", [&] {
    FrameSlice slice;
    pbf_message<FrameSliceField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case FrameSliceField::kId:
          slice.id = ReadUuid(&message);
          break;
        case FrameSliceField::kSessionId:
          slice.session_id = ReadUuid(&message);
          break;
        case FrameSliceField::kApp:
          slice.app = message.get_string();
          break;
        case FrameSliceField::kAppVersion:
          slice.app_version = message.get_string();
          break;
        case FrameSliceField::kUser:
          slice.user = message.get_string();
          break;
        case FrameSliceField::kLoop:
          slice.loop = message.get_string();
          break;
        case FrameSliceField::kScene:
          slice.scene = message.get_string();
          break;
        case FrameSliceField::kBeginWallMs:
          slice.begin_wall_ms = message.get_uint64();
          break;
        case FrameSliceField::kDurationNs:
          slice.duration_ns = message.get_uint64();
          break;
        case FrameSliceField::kRefreshIntervalNs:
          slice.refresh_interval_ns = message.get_uint64();
          break;
        case FrameSliceField::kFrameCount:
          slice.frames.frames = message.get_uint64();
          break;
        case FrameSliceField::kDropped:
          slice.frames.dropped = message.get_uint64();
          break;
        case FrameSliceField::kFramesByLevel:
          ReadCounts(&message, &slice.frames.by_level);
          break;
        case FrameSliceField::kNsByStage:
          ReadCounts(&message, &slice.frames.by_stage_ns);
          break;
        case FrameSliceField::kSampleRatePpm:
          slice.sample_rate_ppm = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    if (slice.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return slice;
  });
}

}  // namespace lagwatch::report
