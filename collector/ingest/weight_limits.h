// SPDX-License-Identifier: Apache-2.0
// Bounds the part that a record has in the sums of causes, so that neither a report, a user nor a network
// decides alone which cause costs most. The report itself is kept as it came. Counted in memory, as quotas
// are: a restart resets it. Context: background. Thread-safe.
//
// A hang is counted once, with its longest length so far: of its reports, then of its end. An end whose
// report came lately counts by that report: from its beginning on, with its weight, in the parts of its user
// and of the network that sends the end. A long end of another report is looked up in the store: another
// collector, or an earlier process, may have taken its report. Any other end is cut, and a network has a part
// for such ones alone: ends of reports that never come take nothing from the network's hangs.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "collector/ingest/open_hangs.h"
#include "collector/ingest/sender.h"
#include "collector/ingest/sender_parts.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

struct WeightBounds {
  static constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

  // A report stands for so many users at most: a million divided by it. A lower rate in the config counts.
  uint64_t least_user_rate_ppm = 10'000;
  // Longer hangs stand for no other user's; an end is cut to it.
  int64_t extrapolated_ns = kHourNs;
  // Hang time in a day (UTC) that counts, and the part of it that stands for others' as well.
  int64_t user_ns = 24 * kHourNs;
  int64_t user_extrapolated_ns = kHourNs;
  int64_t network_ns = 240 * kHourNs;
  int64_t network_extrapolated_ns = 10 * kHourNs;
  // An end of a report that is not known, and those of a network in a day; each counts as a second at least.
  int64_t unmatched_ns = kHourNs / 6;
  int64_t network_unmatched_ns = 10 * kHourNs;
  // Ends of a network in a day whose reports are looked up in the store.
  int64_t network_look_ups = 1'000;
  // A hang may be longer than the time since its beginning by that much: clocks differ.
  int64_t clock_slack_ns = kHourNs / 6;
};

class WeightLimits {
 public:
  // `configured_rate_ppm` returns the least user rate of the config; none without one, or if it is empty.
  using ConfiguredRate = std::function<std::optional<uint64_t>()>;
  // The stored report with that id, as it was bounded; none if there is none. After an error it is not called
  // for 10 seconds, and after 6 seconds of waiting not until the minute is over. Called on the threads of
  // Bound(), without a lock.
  using LookUp = std::function<base::Result<std::optional<ReportRow>>(const base::Uuid& report_id)>;

  enum class Result {
    kAsItSays,
    kLess,     // than it says
    kRefused,  // one too many of the ends of reports that are not known: its report counts without it
  };

  // Names of today that have no part of their own (sender_parts.h).
  struct Sharing {
    int64_t users = 0;
    int64_t networks = 0;
  };

  explicit WeightLimits(const WeightBounds& bounds, ConfiguredRate configured_rate_ppm = {},
                        LookUp look_up = {});

  // Lowers the weight and the time with which the record counts, and sets its `capped_ns`.
  Result Bound(const Sender& sender, int64_t now_wall_ms, NewRecord* record);
  Sharing sharing();

 private:
  using Used = SenderParts::Used;

  bool BoundRate(uint32_t* rate_ppm) const;
  bool BoundReport(const Sender& sender, int64_t now_wall_ms, ReportRow* row, double* capped_ns);
  // Of what is not a hang: its end counts in nothing, unless a hang says that it is of the same one.
  void NoteReport(const Sender& sender, int64_t now_wall_ms, const ReportRow& row);
  // The report of an end that is too long to count without it. Without mutex_.
  std::optional<ReportRow> FindStored(const Sender& sender, const NewRecord& record);
  void NoteStored(const Sender& sender, int64_t now_wall_ms, const ReportRow& row);
  Result BoundEnd(const Sender& sender, int64_t now_wall_ms, const base::Uuid& report_id,
                  int64_t* duration_ns, double* capped_ns);
  Result BoundUnmatched(const Sender& sender, const base::Uuid& report_id, int64_t* duration_ns,
                        double* capped_ns);
  // The length that an end of a report that is not known may have.
  int64_t UnmatchedLeft(const Used& network) const;
  OpenHang* FindOpen(const base::Uuid& report_id);
  OpenHang* AddOpen(const Sender& sender, int64_t now_wall_ms, const ReportRow& row, uint32_t rate_ppm,
                    bool* is_new);
  uint64_t HashOf(const std::string& key, const std::string& user) const;
  // Those of the sender; `unknown` if it is not known.
  Used* NetworkOf(const Sender& sender, Used* unknown);
  Used* UserOf(uint64_t user, Used* unknown) { return user == 0 ? unknown : users_.Of(user); }
  // Whether so much more is in both parts.
  bool HasExtrapolated(int64_t more_ns, const Used& user, const Used& network) const;
  // The part of `more_ns` that both have left; it is used then.
  int64_t Take(int64_t more_ns, Used* user, Used* network) const;

  const WeightBounds bounds_;
  const ConfiguredRate configured_rate_ppm_;
  const LookUp look_up_;
  const uint64_t seed_;  // of hashes
  std::mutex mutex_;
  int64_t day_ = 0;    // guarded by mutex_, as the following ones
  SenderParts users_;  // on that day
  SenderParts networks_;
  // By network: one that sends many reports makes those of its own share forgotten.
  std::array<OpenHangs, 16> open_;
  std::chrono::steady_clock::time_point look_up_after_;
  std::chrono::steady_clock::time_point look_up_minute_;
  std::chrono::steady_clock::duration look_up_time_{};  // in that minute
  OpenHangs early_{100'000};  // of ends that came before their reports: these stand for no others
};

}  // namespace lagwatch::collector
