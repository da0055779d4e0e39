// SPDX-License-Identifier: Apache-2.0
// Bounds the part that a record has in the sums of causes, so that neither a report, a user nor a network
// decides alone which cause costs most. The report itself is kept as it came. Counted in memory, as quotas
// are: a restart resets it. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "collector/ingest/sender.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

struct WeightBounds {
  static constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

  // A report stands for so many users at most: a million divided by it. A lower rate in the config counts.
  uint64_t least_user_rate_ppm = 10'000;
  // Longer hangs stand for no other user's.
  int64_t extrapolated_ns = kHourNs;
  // Hang time in a day (UTC) that counts, and the part of it that stands for others' as well.
  int64_t user_ns = 24 * kHourNs;
  int64_t user_extrapolated_ns = kHourNs;
  int64_t network_ns = 240 * kHourNs;
  int64_t network_extrapolated_ns = 10 * kHourNs;
};

class WeightLimits {
 public:
  // `configured_rate_ppm` returns the least user rate of the config; none without one, or if it is empty.
  using ConfiguredRate = std::function<std::optional<uint64_t>()>;

  explicit WeightLimits(const WeightBounds& bounds, ConfiguredRate configured_rate_ppm = {})
      : bounds_(bounds), configured_rate_ppm_(std::move(configured_rate_ppm)) {}

  // Lowers the weight and the time with which the record counts. Returns whether it did.
  bool Bound(const Sender& sender, int64_t now_wall_ms, NewRecord* record);

 private:
  struct Spent {
    int64_t counted_ns = 0;
    int64_t extrapolated_ns = 0;
  };

  bool BoundRate(uint32_t* rate_ppm) const;
  bool BoundReport(const Sender& sender, ReportRow* row);
  // Cuts the time to what the day has left for the sender.
  bool BoundTime(const Sender& sender, int64_t* duration_ns);
  using SpentByName = std::map<std::string, Spent>;
  // Null if there are too many.
  static Spent* SpentBy(const std::string& name, SpentByName* all);

  const WeightBounds bounds_;
  const ConfiguredRate configured_rate_ppm_;
  std::mutex mutex_;
  int64_t day_ = 0;      // guarded by mutex_
  SpentByName by_user_;  // on that day; guarded by mutex_, as the next one
  SpentByName by_network_;
};

}  // namespace lagwatch::collector
