// SPDX-License-Identifier: Apache-2.0
// After a deletion, everything is as if the records had never come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "collector/maintenance/app_retention_job.h"
#include "collector/maintenance/retention_job.h"
#include "collector/query/query_api.h"
#include "collector/store/sqlite/database/database.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/store/deletion_traffic.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using report::RecordType;
using Item = TrafficItem;

constexpr auto& kKeys = DeletionTraffic::kKeys;
constexpr int64_t kFirstMs = DeletionTraffic::kFirstMs;

const std::vector<Item>& AllItems() { return DeletionTraffic::Items(); }

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
        const auto result = ingest_.Submit(batch, {.key = key});
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
    StepJob repair = CreateRepairJob(store_.get());
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
    // While reports came, some counted elsewhere for a time: users, times and longest hangs were too many.
    shrunk.SumUpAnew();
    fresh.SumUpAnew();
    if (const int64_t removed = remove(&shrunk); removed >= 0) {
      EXPECT_EQ(removed, static_cast<int64_t>(gone_reports.size()));
    }
    EXPECT_EQ(shrunk.Sums(), fresh.Sums());
    EXPECT_EQ(shrunk.OtherSums(), fresh.OtherSums());
    for (const char* path : {"/v1/reports", "/v1/losses", "/v1/usage", "/v1/frames", "/v1/traces"})
      EXPECT_EQ(shrunk.Answer(path, "limit=1000"), fresh.Answer(path, "limit=1000")) << path;
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

// With all reports of its hangs, whatever their own stacks.
TEST_F(DeletionSums, OfACause) {
  std::string key;
  std::set<std::string> gone;
  {
    FileCollector collector;
    for (const Json& cause : Json::parse(collector.Answer("/v1/clusters")))
      if (cause["frames"][0] == "Work3") key = cause["key"];
    for (const Json& report : Json::parse(collector.Answer("/v1/reports", "limit=1000&cluster=" + key)))
      gone.insert(report["id"]);
  }
  Check({.by = Removal::By::kCluster, .subject = key},
        [&](const Item& item) { return gone.contains(base::ToString(item.report_id)); });
}

TEST_F(DeletionSums, OfAReport) {
  int hangs = 0;
  for (size_t i = 0; i + 1 < AllItems().size() && hangs < 3; ++i) {
    // The first of a hang with several.
    const Item& item = AllItems()[i];
    const auto decoded = item.type == RecordType::kReport ? report::DecodeReport(item.payload)
                                                          : base::Status(base::StatusCode::kInvalid, "");
    if (!decoded.ok() || decoded->ordinal != 0 || AllItems()[i + 1].type != RecordType::kReport) continue;
    ++hangs;
    const base::Uuid id = item.report_id;
    Check({.by = Removal::By::kReport, .subject = base::ToString(id)},
          [&](const Item& each) { return each.type == RecordType::kReport && each.report_id == id; });
  }
  EXPECT_EQ(hangs, 3);
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
