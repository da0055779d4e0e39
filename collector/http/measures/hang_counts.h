// SPDX-License-Identifier: Apache-2.0
// Hangs, their length, users and watched time of the records that were stored since the collector started, by
// program, version and verdict: for monitoring, which wants numbers that only grow. Context: background.
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "collector/sketches/user_sketch.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

class HangCounts {
 public:
  // Programs' versions that have numbers of their own, the first ones that came; the others share
  // "(others)".
  static constexpr size_t kMostVersions = 200;
  // Reports whose hang's end may still come, the newest ones.
  static constexpr size_t kMostOpen = 20'000;

  struct Version {
    std::string app;
    std::string version;

    auto operator<=>(const Version&) const = default;
  };
  struct Sums {
    uint64_t hangs = 0;
    double hung_s = 0;
    UserSketch users = {};  // of today (UTC)
  };

  // `outcomes` are of `records`, in their order.
  void Add(std::span<const NewRecord> records, std::span<const CommitOutcome> outcomes, int64_t now_wall_ms);

  void ForEach(int64_t now_wall_ms,
               const std::function<void(const Version&, const std::string& verdict, const Sums&)>& visit);
  void ForEachWatched(const std::function<void(const Version&, double watched_s)>& visit);

 private:
  struct OpenHang {
    std::pair<Version, std::string> place;
    int64_t counted_ns = 0;
  };

  // All with the mutex held.
  Version Known(std::string app, std::string version);
  void Add(const NewReport& report);
  void Add(const report::HangEnd& end);
  void BeginDay(int64_t now_wall_ms);

  std::mutex mutex_;  // guards the following members
  std::map<std::pair<Version, std::string>, Sums> sums_;
  std::map<Version, double> watched_s_;  // has all known versions
  std::map<base::Uuid, OpenHang> open_;
  std::deque<base::Uuid> opened_;  // the keys of `open_`, the oldest first
  int64_t day_ = 0;
};

}  // namespace lagwatch::collector
