// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "report/format/guarded_read.h"
#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

template <typename Field>
int64_t ReadMeasure(pbf_message<Field>* message) {
  return static_cast<int64_t>(std::min<uint64_t>(message->get_uint64(), INT64_MAX));
}

// Of a newer version's longer one, what is beyond is added to the last bucket.
template <typename Field>
policies::DurationHistogram ReadHistogram(pbf_message<Field>* message) {
  policies::DurationHistogram histogram;
  size_t bucket = 0;
  for (uint64_t count : message->get_packed_uint64())
    histogram.counts[std::min(bucket++, histogram.counts.size() - 1)] += count;
  return histogram;
}

LoopUsage ReadLoopUsage(pbf_message<LoopUsageField> message) {
  LoopUsage loop;
  policies::LoopUsage& usage = loop.usage;
  while (message.next()) {
    switch (message.tag()) {
      case LoopUsageField::kLoop:
        loop.loop = message.get_string();
        break;
      case LoopUsageField::kWatchedNs:
        usage.watched_ns = ReadMeasure(&message);
        break;
      case LoopUsageField::kDispatches:
        usage.dispatches = message.get_uint64();
        break;
      case LoopUsageField::kUntimedDispatches:
        usage.untimed_dispatches = message.get_uint64();
        break;
      case LoopUsageField::kLags:
        usage.lags = message.get_uint64();
        break;
      case LoopUsageField::kLaggedNs:
        usage.lagged_ns = ReadMeasure(&message);
        break;
      case LoopUsageField::kBackgroundWatchedNs:
        usage.background.watched_ns = ReadMeasure(&message);
        break;
      case LoopUsageField::kBackgroundLags:
        usage.background.lags = message.get_uint64();
        break;
      case LoopUsageField::kBackgroundLaggedNs:
        usage.background.lagged_ns = ReadMeasure(&message);
        break;
      case LoopUsageField::kDurations:
        usage.durations = ReadHistogram(&message);
        break;
      default:
        message.skip();
    }
  }
  return loop;
}

SlowTag ReadSlowTag(pbf_message<SlowTagField> message) {
  SlowTag slow;
  policies::SlowDispatches& dispatches = slow.dispatches;
  while (message.next()) {
    switch (message.tag()) {
      case SlowTagField::kLoop:
        slow.loop = message.get_string();
        break;
      case SlowTagField::kTag:
        slow.tag = message.get_string();
        break;
      case SlowTagField::kCount:
        dispatches.count = message.get_uint64();
        break;
      case SlowTagField::kTotalNs:
        dispatches.total_ns = ReadMeasure(&message);
        break;
      case SlowTagField::kLongestNs:
        dispatches.longest_ns = ReadMeasure(&message);
        break;
      case SlowTagField::kDurations:
        dispatches.durations = ReadHistogram(&message);
        break;
      default:
        message.skip();
    }
  }
  return slow;
}

Suppressed ReadSuppressed(pbf_message<SuppressedField> message) {
  Suppressed suppressed;
  while (message.next()) {
    switch (message.tag()) {
      case SuppressedField::kReason: {
        int32_t reason = message.get_enum();
        bool is_known = reason >= 0 && static_cast<size_t>(reason) < policies::kSuppressedReasons;
        if (is_known) suppressed.reason = static_cast<policies::SuppressedReason>(reason);
        break;
      }
      case SuppressedField::kCount:
        suppressed.count = message.get_uint64();
        break;
      default:
        message.skip();
    }
  }
  return suppressed;
}

}  // namespace

base::Result<Usage> DecodeUsage(std::string_view bytes) {
  return Guarded("the usage", [&] {
    Usage usage;
    pbf_message<UsageField> message(bytes.data(), bytes.size());
    while (message.next()) {
      switch (message.tag()) {
        case UsageField::kId:
          usage.id = ReadUuid(&message);
          break;
        case UsageField::kSessionId:
          usage.session_id = ReadUuid(&message);
          break;
        case UsageField::kApp:
          usage.app = message.get_string();
          break;
        case UsageField::kAppVersion:
          usage.app_version = message.get_string();
          break;
        case UsageField::kUser:
          usage.user = message.get_string();
          break;
        case UsageField::kBeginWallMs:
          usage.begin_wall_ms = message.get_uint64();
          break;
        case UsageField::kEndWallMs:
          usage.end_wall_ms = message.get_uint64();
          break;
        case UsageField::kLoops:
          usage.loops.push_back(ReadLoopUsage(message.get_message()));
          break;
        case UsageField::kSlow:
          usage.slow.push_back(ReadSlowTag(message.get_message()));
          break;
        case UsageField::kSuppressed:
          usage.suppressed.push_back(ReadSuppressed(message.get_message()));
          break;
        case UsageField::kSampleRatePpm:
          usage.sample_rate_ppm = message.get_uint32();
          break;
        default:
          message.skip();
      }
    }
    if (usage.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return usage;
  });
}

}  // namespace lagwatch::report
