// SPDX-License-Identifier: Apache-2.0
#include "report/format/usage_encoder.h"

#include <algorithm>

namespace lagwatch::report {
namespace {

// proto3 leaves out what is empty.
template <typename Field>
void PutText(FixedWriter* writer, Field field, std::string_view text) {
  if (!text.empty()) writer->add_bytes(Number(field), text.data(), text.size());
}

template <typename Field>
void PutNumber(FixedWriter* writer, Field field, uint64_t number) {
  if (number != 0) writer->add_uint64(Number(field), number);
}

template <typename Field>
void PutMeasure(FixedWriter* writer, Field field, int64_t measure) {
  PutNumber(writer, field, static_cast<uint64_t>(std::max<int64_t>(measure, 0)));
}

// Up to the last bucket that is not empty.
template <typename Field>
void PutHistogram(FixedWriter* writer, Field field, const policies::DurationHistogram& histogram) {
  size_t count = histogram.counts.size();
  while (count > 0 && histogram.counts[count - 1] == 0) --count;
  if (count == 0) return;
  protozero::detail::packed_field_varint<FixedBuffer, uint64_t> packed(*writer, Number(field));
  for (size_t i = 0; i < count; ++i) packed.add_element(histogram.counts[i]);
}

}  // namespace

UsageEncoder::UsageEncoder(const UsageHeader& header, FixedBuffer* buffer)
    : buffer_(buffer), writer_(*buffer) {
  buffer_->Clear();
  PutText(&writer_, UsageField::kId, header.id.as_bytes());
  PutText(&writer_, UsageField::kSessionId, header.session_id.as_bytes());
  PutText(&writer_, UsageField::kApp, header.app);
  PutText(&writer_, UsageField::kAppVersion, header.app_version);
  PutText(&writer_, UsageField::kUser, header.user);
  PutMeasure(&writer_, UsageField::kBeginWallMs, header.begin_wall_ms);
  PutMeasure(&writer_, UsageField::kEndWallMs, header.end_wall_ms);
}

void UsageEncoder::AddLoop(std::string_view loop, const policies::LoopUsage& usage) {
  FixedWriter writer(writer_, Number(UsageField::kLoops));
  PutText(&writer, LoopUsageField::kLoop, loop);
  PutMeasure(&writer, LoopUsageField::kWatchedNs, usage.watched_ns);
  PutNumber(&writer, LoopUsageField::kDispatches, usage.dispatches);
  PutNumber(&writer, LoopUsageField::kUntimedDispatches, usage.untimed_dispatches);
  PutNumber(&writer, LoopUsageField::kLags, usage.lags);
  PutMeasure(&writer, LoopUsageField::kLaggedNs, usage.lagged_ns);
  PutHistogram(&writer, LoopUsageField::kDurations, usage.durations);
  PutMeasure(&writer, LoopUsageField::kBackgroundWatchedNs, usage.background.watched_ns);
  PutNumber(&writer, LoopUsageField::kBackgroundLags, usage.background.lags);
  PutMeasure(&writer, LoopUsageField::kBackgroundLaggedNs, usage.background.lagged_ns);
}

void UsageEncoder::AddSlow(std::string_view loop, std::string_view tag,
                           const policies::SlowDispatches& dispatches) {
  FixedWriter writer(writer_, Number(UsageField::kSlow));
  PutText(&writer, SlowTagField::kLoop, loop);
  PutText(&writer, SlowTagField::kTag, tag);
  PutNumber(&writer, SlowTagField::kCount, dispatches.count);
  PutMeasure(&writer, SlowTagField::kTotalNs, dispatches.total_ns);
  PutMeasure(&writer, SlowTagField::kLongestNs, dispatches.longest_ns);
  PutHistogram(&writer, SlowTagField::kDurations, dispatches.durations);
}

void UsageEncoder::AddSuppressed(policies::SuppressedReason reason, uint64_t count) {
  if (count == 0) return;
  FixedWriter writer(writer_, Number(UsageField::kSuppressed));
  PutNumber(&writer, SuppressedField::kReason, static_cast<uint64_t>(reason));
  PutNumber(&writer, SuppressedField::kCount, count);
}

}  // namespace lagwatch::report
