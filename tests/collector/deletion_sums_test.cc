// SPDX-License-Identifier: Apache-2.0
// After a deletion, everything is as if the records had never come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "collector/maintenance/app_retention_job.h"
#include "collector/maintenance/retention_job.h"
#include "collector/query/query_api.h"
#include "collector/store/sqlite/database.h"
#include "report/format/losses.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using report::RecordType;
using testing::EncodeEnd;
using testing::SampleReport;

constexpr std::array<const char*, 3> kApps = {"editor", "player", "mail"};
constexpr std::array<const char*, 3> kVersions = {"1.0", "1.1", "2.0"};
constexpr std::array<const char*, 3> kKeys = {"build", "field", "leaked"};
constexpr int64_t kFirstMs = 1'700'000'000'000;

const std::vector<std::string>& Users() {
  static const std::vector<std::string> kUsers = [] {
    std::vector<std::string> users = {""};
    for (int i = 0; i < 300; ++i) users.push_back("u-" + std::to_string(i));
    return users;
  }();
  return kUsers;
}

// A record on its way to the collector, and what it is about.
struct Item {
  RecordType type;
  std::string payload;
  std::string app, user, key;
  base::Uuid report_id{};  // its own, or of the report that it belongs to
  int stack = -1;          // a report's
  int64_t day = 0;         // that its id, or its end, is of
};

// Records of three programs, of reports with several of one lag, ends, killed runs, traces, usage,
// losses and frames.
class Traffic {
 public:
  Traffic() {
    for (int i = 0; i < 400; ++i) AddLag();
    for (int i = 0; i < 150; ++i) AddOthers();
  }
  const std::vector<Item>& items() const { return items_; }

 private:
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
  void AddLag() {
    Choose();
    const size_t reports = 1 + Draw(4) / 2;
    const base::Uuid session_id = base::CreateUuidV7(day_ms_);
    base::Uuid lag_id;
    const int64_t first_ns = 2'000'000'000 + static_cast<int64_t>(Draw(900)) * 1'000'000;
    for (size_t i = 0; i < reports; ++i) {
      const int stack = static_cast<int>(Draw(6));
      SampleReport report;
      report.header.id = base::CreateUuidV7(day_ms_ + static_cast<int64_t>(i));
      if (i == 0) lag_id = report.header.id;
      report.header.lag_id = lag_id;
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
      if (Draw(3) == 0) Add(RecordType::kLagEnd, EncodeEnd(report.header.id, end_ns), report.header.id);
    }
    if (Draw(6) == 0) AddRunEnd(session_id, lag_id);
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
                                                   .reason = policies::ExitReason::kKilledInLag,
                                                   .report_id = report_id,
                                                   .lag_ns = 4'500'000'000,
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
  std::vector<Item> items_;
  size_t app_ = 0, version_ = 0, user_ = 0, key_ = 0;
  int64_t day_ms_ = 0;
};

const std::vector<Item>& AllItems() {
  static const Traffic kTraffic;
  return kTraffic.items();
}

// A collector with its database in a file, so that the test can look into it.
class FileCollector {
 public:
  // With those of AllItems() that are not gone, in the same batches in any case.
  explicit FileCollector(const std::function<bool(const Item&)>& is_gone = {}) {
    constexpr size_t kAtOnce = 7;
    const std::vector<Item>& items = AllItems();
    for (size_t begin = 0; begin < items.size(); begin += kAtOnce) {
      for (const char* key : kKeys) {
        std::string batch;
        for (size_t i = begin; i < std::min(begin + kAtOnce, items.size()); ++i) {
          if (items[i].key == key && !(is_gone && is_gone(items[i])))
            report::AppendToBatch({items[i].type, items[i].payload}, &batch);
        }
        if (batch.empty()) continue;
        const auto result = ingest_.Submit(batch, key);
        EXPECT_TRUE(result.ok()) << result.status().message();
        EXPECT_EQ(result->rejected, 0);
      }
    }
    Repair();
  }

  RemovalProgress Remove(const Removal& removal, int64_t limit = 23) {
    RemovalProgress progress;
    auto more = store_->Remove(removal, limit, &progress);
    while (more.ok() && *more) more = store_->Remove(removal, limit, &progress);
    EXPECT_TRUE(more.ok()) << more.status().message();
    Repair();
    return progress;
  }
  // Retention of programs at noon of `day`, by a clock that a person confirmed.
  void Retain(const Retention& retention, int64_t day) {
    const int64_t wall_ms = day * kMsPerDay + kMsPerDay / 2;
    const std::string confirmed_path = directory_ / "confirmed";
    ASSERT_TRUE(ConfirmClock(confirmed_path, wall_ms).ok());
    AppRetentionJob job(store_.get(), retention, [=] { return wall_ms; }, {.confirmed_path = confirmed_path});
    while (job.Step().value()) {
    }
    Repair();
  }
  void Repair() {
    RepairJob repair(store_.get());
    while (repair.Step().value()) {
    }
  }
  // Adds all sums up from their reports.
  void SumUpAnew() {
    Database(path_).Execute(
        "INSERT OR IGNORE INTO shrunk_clusters SELECT id FROM clusters;"
        " INSERT OR IGNORE INTO shrunk_totals SELECT segment, day FROM cluster_sums WHERE cluster = 0;");
    Repair();
  }

  // Rows as texts, by what they are sums of.
  std::map<std::string, std::string> Rows(const char* sql) {
    std::map<std::string, std::string> rows;
    Database database(path_);
    Statement found = database.Use(sql);
    while (found.Step()) rows[found.Text(0)] = found.Text(1);
    return rows;
  }
  std::map<std::string, std::string> Sums() {
    return Rows(
        "SELECT coalesce(one.key, 'all') || ' ' || coalesce(app || ' ' || version || ' ' || kind || ' ' ||"
        " verdict, '*') || ' ' || day,"
        " format('%d %s %d %d %.9g %.9g %.9g longest %d seen %d %d lost %.9g %.9g ', cluster_sums.level,"
        "  coalesce(two.key, ''), reports, lags, hang_ns, weighted_lags, weighted_hang_ns, longest_ns,"
        "  first_seen_ms, last_seen_ms, lost_reports, estimated_hang_ns) || hex(sketches)"
        " FROM cluster_sums LEFT JOIN clusters AS one ON one.id = cluster"
        " LEFT JOIN clusters AS two ON two.id = cluster_sums.parent"
        " LEFT JOIN segments ON segments.id = segment WHERE reports > 0");
  }
  std::map<std::string, std::string> OtherSums() {
    auto sums =
        Rows("SELECT 'watched ' || day || app || version, format('%.12g', watched_ns) FROM usage_sums");
    sums.merge(
        Rows("SELECT 'lost ' || app || version || reason || cause,"
             " format('%.17g %.17g', reports, weighted_reports) FROM loss_sums"));
    sums.merge(
        Rows("SELECT 'cause ' || cause || coalesce(key, 'all'), format('%d %.9g', reports, lost_reports)"
             " FROM cause_reports LEFT JOIN clusters ON id = cluster WHERE reports > 0"));
    sums.merge(
        Rows("SELECT 'report ' || hex(reports.id), format('%s %s %d %d %d', app, kind, hang_ns, is_lead,"
             " coalesce(duration_ns, -1)) FROM reports JOIN segments ON segments.id = segment"));
    sums.merge(Rows("SELECT 'trace ' || hex(id), length(trace) FROM traces JOIN packed_traces USING (row)"));
    sums.merge(
        Rows("SELECT 'row ' || row, 'payload' FROM payloads WHERE row NOT IN (SELECT row FROM reports)"));
    sums.merge(
        Rows("SELECT 'unnamed ' || row, '' FROM unnamed_builds WHERE row NOT IN (SELECT row FROM reports)"));
    return sums;
  }
  std::string Answer(const std::string& path, const std::string& query = "") {
    return query_api_.Get(path, query).body;
  }

 private:
  testing::ScopedMemoryDirectory directory_;
  std::string path_ = directory_ / "collector.db";
  std::unique_ptr<SqliteStore> store_ = SqliteStore::Open(path_).value();
  Ingest ingest_{store_.get(), Clusterer::Create("").value(), nullptr, {}, {.traces_a_day = 100'000}};
  QueryApi query_api_{store_.get(), Clusterer::Create("")->rules()};
};

class DeletionSums : public ::testing::Test {
 protected:
  // Deletes the records that `removal` selects, and compares with a collector that never had
  // those of `is_gone`.
  void Check(const Removal& removal, const std::function<bool(const Item&)>& is_gone) {
    Check([&](FileCollector* collector) { return collector->Remove(removal).reports; }, is_gone);
  }
  // The same of what `remove` removes; it returns how many reports, or -1.
  void Check(const std::function<int64_t(FileCollector*)>& remove,
             const std::function<bool(const Item&)>& is_gone) {
    std::set<std::array<uint8_t, 16>> gone_reports;
    for (const Item& item : AllItems())
      if (item.type == RecordType::kReport && is_gone(item)) gone_reports.insert(item.report_id.bytes);
    const auto belongs_to_gone = [&](const Item& item) {
      return is_gone(item) || (item.report_id != base::Uuid{} && gone_reports.contains(item.report_id.bytes));
    };
    ASSERT_GT(gone_reports.size(), 0u);
    FileCollector shrunk;
    FileCollector fresh(belongs_to_gone);
    if (const int64_t removed = remove(&shrunk); removed >= 0) {
      EXPECT_EQ(removed, static_cast<int64_t>(gone_reports.size()));
    }
    const auto sums = shrunk.Sums();
    const auto as_they_came = fresh.Sums();
    EXPECT_EQ(shrunk.OtherSums(), fresh.OtherSums());
    for (const char* path : {"/v1/reports", "/v1/losses", "/v1/usage", "/v1/frames", "/v1/traces"})
      EXPECT_EQ(shrunk.Answer(path, "limit=1000"), fresh.Answer(path, "limit=1000")) << path;
    fresh.SumUpAnew();
    ExpectSame(sums, as_they_came, fresh.Sums());
  }

  // Sums that nothing was taken out of are as they came, where a lag's longest report may have been another
  // for a time; all others are those of the reports.
  static void ExpectSame(const std::map<std::string, std::string>& sums,
                         const std::map<std::string, std::string>& as_they_came,
                         const std::map<std::string, std::string>& anew) {
    EXPECT_EQ(sums.size(), anew.size());
    for (const auto& [key, row] : anew) {
      const auto found = sums.find(key);
      ASSERT_NE(found, sums.end()) << key;
      if (found->second != row) {
        const auto came = as_they_came.find(key);
        ASSERT_NE(came, as_they_came.end()) << key;
        EXPECT_EQ(found->second, came->second) << key;
      }
    }
  }
};

TEST_F(DeletionSums, OfAUser) {
  for (const std::string user : {"u-0", "u-2"}) {
    Check({.by = Removal::By::kUser, .subject = user}, [&](const Item& item) { return item.user == user; });
  }
}

TEST_F(DeletionSums, OfAProgram) {
  Check({.by = Removal::By::kApp, .subject = "editor"},
        [](const Item& item) { return item.app == "editor"; });
}

TEST_F(DeletionSums, OfAllProgramsButSome) {
  Check({.by = Removal::By::kOtherApps, .excluded_apps = {"mail", "editor"}},
        [](const Item& item) { return item.app == "player"; });
}

TEST_F(DeletionSums, OfAKey) {
  Check({.by = Removal::By::kKey, .subject = "leaked"},
        [](const Item& item) { return item.key == "leaked"; });
}

TEST_F(DeletionSums, OfACause) {
  std::string key;
  {
    FileCollector collector;
    for (const Json& cause : Json::parse(collector.Answer("/v1/clusters")))
      if (cause["frames"][0] == "Work3") key = cause["key"];
  }
  Check({.by = Removal::By::kCluster, .subject = key}, [](const Item& item) { return item.stack == 3; });
}

TEST_F(DeletionSums, OfAReport) {
  int lags = 0;
  for (size_t i = 0; i + 1 < AllItems().size() && lags < 3; ++i) {
    // The first of a lag with several.
    const Item& item = AllItems()[i];
    const auto decoded = item.type == RecordType::kReport ? report::DecodeReport(item.payload)
                                                          : base::Status(base::StatusCode::kInvalid, "");
    if (!decoded.ok() || decoded->ordinal != 0 || AllItems()[i + 1].type != RecordType::kReport) continue;
    ++lags;
    const base::Uuid id = item.report_id;
    Check({.by = Removal::By::kReport, .subject = base::ToString(id)},
          [&](const Item& each) { return each.type == RecordType::kReport && each.report_id == id; });
  }
  EXPECT_EQ(lags, 3);
}

TEST_F(DeletionSums, OfWhatIsOlderThanItsProgramsRetention) {
  // Of five days, editor keeps two, mail four and player three.
  const int64_t last_day = kFirstMs / kMsPerDay + 4;
  const Retention retention{.days = 2, .days_of_apps = {{"editor", 1}, {"mail", 3}}};
  Check(
      [&](FileCollector* collector) {
        collector->Retain(retention, last_day);
        return -1;
      },
      [&](const Item& item) { return item.day < last_day - retention.DaysOf(item.app); });
}

TEST_F(DeletionSums, OfWhatIsOlderThanADay) {
  const int64_t day = kFirstMs / kMsPerDay + 2;
  FileCollector collector;
  const RemovalProgress removed =
      collector.Remove({.by = Removal::By::kApp, .subject = "editor", .before_day = day});
  EXPECT_GT(removed.reports, 0);
  EXPECT_GT(removed.others, 0);
  for (const Json& report : Json::parse(collector.Answer("/v1/reports", "app=editor&limit=1000")))
    EXPECT_GE(report["start_wall_ms"].get<int64_t>() / kMsPerDay, day);
  int64_t older = 0;
  for (const Json& report : Json::parse(collector.Answer("/v1/reports", "app=mail&limit=1000")))
    older += report["start_wall_ms"].get<int64_t>() / kMsPerDay < day;
  EXPECT_GT(older, 0);
}

}  // namespace
}  // namespace lagwatch::collector
