// SPDX-License-Identifier: Apache-2.0
// Records of three programs that deletions take some of: reports, several of one hang among them, ends,
// killed runs, traces, usage, losses and frames.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collector/store/records.h"
#include "report/format/losses.h"
#include "tests/collector/sample_traces.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::collector {

// A record on its way to the collector, and what it is about.
struct TrafficItem {
  report::RecordType type;
  std::string payload;
  std::string app, user, key;
  base::Uuid report_id{};  // its own, or of the report that it belongs to
  int stack = -1;          // a report's
  int64_t day = 0;         // that its id, or its end, is of
};

class DeletionTraffic {
 public:
  static constexpr std::array<const char*, 3> kApps = {"editor", "player", "mail"};
  static constexpr std::array<const char*, 3> kKeys = {"build", "field", "leaked"};
  static constexpr int64_t kFirstMs = 1'700'000'000'000;

  // The same each time.
  static const std::vector<TrafficItem>& Items() {
    static const DeletionTraffic kTraffic;
    return kTraffic.items_;
  }

 private:
  using RecordType = report::RecordType;
  using SampleReport = testing::SampleReport;

  static constexpr std::array<const char*, 3> kVersions = {"1.0", "1.1", "2.0"};

  static const std::vector<std::string>& Users() {
    static const std::vector<std::string> kUsers = [] {
      std::vector<std::string> users = {""};
      for (int i = 0; i < 300; ++i) users.push_back("u-" + std::to_string(i));
      return users;
    }();
    return kUsers;
  }

  DeletionTraffic() {
    for (int i = 0; i < 400; ++i) AddHang();
    for (int i = 0; i < 150; ++i) AddOthers();
  }

  size_t Draw(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  void Choose() {
    app_ = Draw(kApps.size());
    version_ = Draw(kVersions.size());
    user_ = Draw(Draw(3) == 0 ? Users().size() : 4);
    key_ = Draw(kKeys.size());
    day_ms_ = kFirstMs + static_cast<int64_t>(Draw(5)) * kMsPerDay + static_cast<int64_t>(Draw(1000));
  }
  void Add(RecordType type, std::string payload, const base::Uuid& report_id = {}, int stack = -1) {
    items_.push_back({type, std::move(payload), kApps[app_], Users()[user_], kKeys[key_], report_id, stack,
                      day_ms_ / kMsPerDay});
  }

  // With up to three reports, whose first has the largest part.
  void AddHang() {
    Choose();
    const size_t reports = 1 + Draw(4) / 2;
    const base::Uuid session_id = base::CreateUuidV7(day_ms_);
    base::Uuid hang_id;
    const int64_t first_ns = 2'000'000'000 + static_cast<int64_t>(Draw(900)) * 1'000'000;
    for (size_t i = 0; i < reports; ++i) {
      const int stack = static_cast<int>(Draw(6));
      SampleReport report;
      report.header.id = base::CreateUuidV7(day_ms_ + static_cast<int64_t>(i));
      if (i == 0) hang_id = report.header.id;
      report.header.hang_id = hang_id;
      report.header.session_id = session_id;
      report.header.ordinal = static_cast<uint32_t>(i);
      report.header.app = kApps[app_];
      report.header.app_version = kVersions[version_];
      report.header.user = Users()[user_];
      report.header.start_wall_ms = day_ms_;
      report.header.elapsed_ns = first_ns + static_cast<int64_t>(i) * 500'000'000;
      const std::string name = std::to_string(stack);
      report.stack = {"Work" + name, "Step" + name, "Part" + std::to_string(Draw(2)), "Run", "main"};
      std::string encoded = report.Encode();
      const std::array<uint32_t, 3> kRates = {0, 500'000, 250'000};
      report::AppendSampleRate(RecordType::kReport, kRates[Draw(3)], &encoded);
      report::AppendCause(static_cast<uint64_t>(stack / 2 + 1), &encoded);
      Add(RecordType::kReport, encoded, report.header.id, stack);
      if (Draw(3) == 0) {
        Add(RecordType::kTrace, report::EncodeTraceRecord(TraceFor(report.header.id, session_id)),
            report.header.id);
      }
      const auto end_ns = static_cast<int64_t>(first_ns + 1'200'000'000);
      if (Draw(3) == 0)
        Add(RecordType::kHangEnd, testing::EncodeEnd(report.header.id, end_ns), report.header.id);
    }
    if (Draw(6) == 0) AddRunEnd(session_id, hang_id);
  }

  report::TraceRecord TraceFor(const base::Uuid& report_id, const base::Uuid& session_id) {
    report::TraceRecord trace = testing::TraceOf(report_id, testing::SampleTrace(), day_ms_);
    trace.session_id = session_id;
    trace.app = kApps[app_];
    trace.user = Users()[user_];
    return trace;
  }

  void AddRunEnd(const base::Uuid& session_id, const base::Uuid& report_id) {
    const bool is_told_by_another = Draw(3) == 0;
    if (is_told_by_another) key_ = Draw(kKeys.size());
    Add(RecordType::kRunEnd, report::EncodeRunEnd({.session_id = session_id,
                                                   .reason = policies::ExitReason::kKilledInHang,
                                                   .report_id = report_id,
                                                   .hang_ns = 4'500'000'000,
                                                   .loop = "ui",
                                                   .last_seen_wall_ms = static_cast<uint64_t>(day_ms_),
                                                   .app = kApps[app_],
                                                   .app_version = kVersions[version_],
                                                   .user = Users()[user_]}));
  }

  void AddOthers() {
    Choose();
    const base::Uuid id = base::CreateUuidV7(day_ms_);
    policies::LoopUsage ui{.watched_ns = static_cast<int64_t>(Draw(1000)) * 1'000'000'000, .dispatches = 10};
    Add(RecordType::kUsage, testing::EncodeUsage({.id = id,
                                                  .session_id = id,
                                                  .app = kApps[app_],
                                                  .app_version = kVersions[version_],
                                                  .user = Users()[user_],
                                                  .begin_wall_ms = static_cast<uint64_t>(day_ms_),
                                                  .end_wall_ms = static_cast<uint64_t>(day_ms_ + 1000),
                                                  .loops = {{"ui", ui}}}));
    const auto reason = Draw(2) == 0 ? report::LossReason::kCauseIsFull : report::LossReason::kNotSampled;
    // One program alone has losses of the third cause, and one user claims more than an entry counts for.
    const uint64_t cause = app_ == 0 ? 3 : 1 + Draw(2);
    const uint64_t count = user_ == 1 ? uint64_t{1} << 62 : 1 + Draw(20);
    Add(RecordType::kLosses, report::EncodeLosses({.id = id,
                                                   .app = kApps[app_],
                                                   .app_version = kVersions[version_],
                                                   .user = Users()[user_],
                                                   .begin_wall_ms = static_cast<uint64_t>(day_ms_),
                                                   .end_wall_ms = static_cast<uint64_t>(day_ms_ + 1),
                                                   .losses = {{reason, cause, count, 500'000},
                                                              {report::LossReason::kTooOld, 0, 2, 0}}}));
    report::FrameSliceView slice{.id = id,
                                 .session_id = id,
                                 .app = kApps[app_],
                                 .app_version = kVersions[version_],
                                 .user = Users()[user_],
                                 .loop = "ui",
                                 .scene = "inbox",
                                 .begin_wall_ms = day_ms_,
                                 .duration_ns = 1'000'000'000,
                                 .refresh_interval_ns = 16'000'000,
                                 .frames = {}};
    slice.frames.frames = 60;
    slice.frames.dropped = Draw(9);
    Add(RecordType::kFrameSlice, testing::EncodeFrames(slice));
  }

  std::mt19937 random_{7};
  std::vector<TrafficItem> items_;
  size_t app_ = 0, version_ = 0, user_ = 0, key_ = 0;
  int64_t day_ms_ = 0;
};

}  // namespace lagwatch::collector
