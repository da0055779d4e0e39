// SPDX-License-Identifier: Apache-2.0
// After a removal, ClickHouse has the same as if the records had never come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collector/ingest/ingest.h"
#include "collector/query/query_api.h"
#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/collector/store/deletion_traffic.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using report::RecordType;

using IsGone = std::function<bool(const TrafficItem&)>;

// A collector without sockets.
class TrafficCollector {
 public:
  explicit TrafficCollector(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  // All that is not gone, in a batch of each key.
  void SubmitAll(const IsGone& is_gone = {}) {
    for (const char* key : DeletionTraffic::kKeys) {
      std::string batch;
      for (const TrafficItem& item : DeletionTraffic::Items()) {
        if (item.key == key && !(is_gone && is_gone(item)))
          report::AppendToBatch({item.type, item.payload}, &batch);
      }
      const auto result = ingest_.Submit(batch, {.key = key});
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->rejected, 0);
    }
  }
  std::string Answer(const std::string& path, const std::string& query = "") {
    const auto response = query_api_.Get(path, query);
    EXPECT_EQ(response.status, 200) << path << ": " << response.body;
    return response.body;
  }
  Store* store() { return store_.get(); }

 private:
  std::unique_ptr<Store> store_;
  Ingest ingest_{store_.get(), Clusterer::Create("").value(), nullptr, {}, {.traces_a_day = 100'000}};
  QueryApi query_api_{store_.get(), Clusterer::Create("")->rules()};
};

// Without the last digits, which depend on the order of a sum's parts.
// `capped` is of SQLite's alone.
Json Rounded(Json answer) {
  if (answer.is_object()) answer.erase("capped");
  if (answer.is_number_float()) {
    std::array<char, 40> digits{};
    std::snprintf(digits.data(), digits.size(), "%.12g", answer.get<double>());
    return std::strtod(digits.data(), nullptr);
  }
  if (answer.is_structured()) {
    for (Json& part : answer) part = Rounded(std::move(part));
  }
  return answer;
}

// All of it, as the deletion job does; mutations may take longer than a step waits.
RemovalProgress RemoveAll(Store* store, const Removal& removal) {
  RemovalProgress progress;
  for (int failures = 0; failures < 20;) {
    const auto has_more = store->Remove(removal, 200, &progress);
    if (has_more.ok() && !*has_more) return progress;
    if (has_more.ok()) continue;
    EXPECT_EQ(has_more.status().code(), base::StatusCode::kUnavailable) << has_more.status().message();
    ++failures;
  }
  ADD_FAILURE() << "the removal does not end";
  return progress;
}

class InOwnDatabase : public ::testing::Test {
 protected:
  std::unique_ptr<ClickHouseStore> Open() {
    auto store = ClickHouseStore::Open(Url(), directory_ / "spool");
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(store).value();
  }

  virtual std::string Url() const { return database_.Url(); }

  testing::ScopedTempDirectory directory_;
  testing::OwnDatabase database_;
};

// One removal after the other, each compared with a collector that never had what is gone by then.
// On one server: a cluster's take a minute of processor time for the same statements.
class RemovedTraffic : public InOwnDatabase {
 protected:
  std::string Url() const final { return database_.UrlOfOneNode(); }
  void SetUp() override { collector_.SubmitAll(); }

  void Remove(const char* what, const Removal& removal, const IsGone& is_gone) {
    SCOPED_TRACE(what);
    std::set<std::array<uint8_t, 16>> gone_reports;
    for (const TrafficItem& item : DeletionTraffic::Items()) {
      if (item.type == RecordType::kReport && is_gone(item) && !IsGoneAlready(item))
        gone_reports.insert(item.report_id.bytes);
    }
    ASSERT_GT(gone_reports.size(), 0u);
    gone_.push_back([=](const TrafficItem& item) {
      return is_gone(item) || (item.report_id != base::Uuid{} && item.type != RecordType::kRunEnd &&
                               gone_reports.contains(item.report_id.bytes));
    });
    const RemovalProgress removed = RemoveAll(collector_.store(), removal);
    EXPECT_EQ(removed.reports, static_cast<int64_t>(gone_reports.size()));
    ExpectAsIfNeverCome("before sums are made");
    ASSERT_TRUE(store_->SumUpForTest().ok());
    ExpectAsIfNeverCome("from sums");
  }
  bool IsGoneAlready(const TrafficItem& item) const {
    return std::ranges::any_of(gone_, [&](const IsGone& is_gone) { return is_gone(item); });
  }

 private:
  void ExpectAsIfNeverCome(const char* when) {
    testing::ScopedTempDirectory directory;
    const std::string path_of_fresh = directory / "collector.db";
    TrafficCollector fresh(std::move(SqliteStore::Open(path_of_fresh).value()));
    fresh.SubmitAll([this](const TrafficItem& item) { return IsGoneAlready(item); });
    // Longest hangs of sums that grew report by report depend on their order: these are of what is there.
    Database(path_of_fresh).Execute("INSERT OR IGNORE INTO shrunk_clusters SELECT id FROM clusters");
    while (fresh.store()->RepairSums(100).value() > 0) continue;
    for (const auto& [path, query] : {std::pair("/v1/reports", "limit=1000"),
                                      {"/v1/clusters", "limit=100"},
                                      {"/v1/clusters", "level=2"},
                                      {"/v1/clusters", "app=mail&version=1.0"},
                                      {"/v1/losses", ""},
                                      {"/v1/usage", ""},
                                      {"/v1/frames", ""},
                                      {"/v1/traces", "limit=1000"}}) {
      const Json difference = Json::diff(Rounded(Json::parse(collector_.Answer(path, query))),
                                         Rounded(Json::parse(fresh.Answer(path, query))));
      EXPECT_EQ(difference, Json::array()) << path << "?" << query << " " << when;
    }
  }

  std::vector<IsGone> gone_;

 protected:
  ClickHouseStore* store_ = nullptr;
  TrafficCollector collector_{[this] {
    auto store = Open();
    store_ = store.get();
    return store;
  }()};
};

TEST_F(RemovedTraffic, IsAsIfItHadNeverCome) {
  std::string cause;
  for (const Json& each : Json::parse(collector_.Answer("/v1/clusters")))
    if (each["frames"][0] == "Work3") cause = each["key"];
  const auto& items = DeletionTraffic::Items();
  // The first report of a hang that has several.
  const auto first = std::ranges::adjacent_find(items, [](const TrafficItem& item, const TrafficItem& next) {
    return item.type == RecordType::kReport && next.type == RecordType::kReport &&
           report::DecodeReport(next.payload)->ordinal == 1 && item.stack != 3 && item.user != "u-0";
  });
  ASSERT_NE(first, items.end());
  const int64_t third_day = DeletionTraffic::kFirstMs / kMsPerDay + 2;

  Remove("a report", {.by = Removal::By::kReport, .subject = base::ToString(first->report_id)},
         [&](const TrafficItem& item) {
           return item.type == RecordType::kReport && item.report_id == first->report_id;
         });
  Remove("a user", {.by = Removal::By::kUser, .subject = "u-0"},
         [](const TrafficItem& item) { return item.user == "u-0"; });
  // With all reports of its hangs, whatever their own stacks.
  std::set<std::string> of_cause;
  for (const Json& report : Json::parse(collector_.Answer("/v1/reports", "limit=1000&cluster=" + cause)))
    of_cause.insert(report["id"]);
  Remove("a cause", {.by = Removal::By::kCluster, .subject = cause}, [=](const TrafficItem& item) {
    return item.type == RecordType::kReport && of_cause.contains(base::ToString(item.report_id));
  });
  Remove("a program's before a day", {.by = Removal::By::kApp, .subject = "editor", .before_day = third_day},
         [=](const TrafficItem& item) { return item.app == "editor" && item.day < third_day; });
  Remove("a key", {.by = Removal::By::kKey, .subject = "leaked"},
         [](const TrafficItem& item) { return item.key == "leaked"; });
  Remove("other programs", {.by = Removal::By::kOtherApps, .excluded_apps = {"mail", "editor"}},
         [](const TrafficItem& item) { return item.app == "player"; });
  Remove("a program", {.by = Removal::By::kApp, .subject = "editor"},
         [](const TrafficItem& item) { return item.app == "editor"; });
}

NewReport ReportOfUser(const std::string& user) {
  testing::SampleReport sample;
  sample.header.user = user;
  sample.header.elapsed_ns = 1'000'000'000;
  const std::string payload = sample.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  return NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload);
}

class Removals : public InOwnDatabase {
 protected:
  static constexpr const char* kGone = "gone";

  bool Has(const NewReport& report) { return store_->FindReport(report.row.id)->has_value(); }
  void RemoveUser() { RemoveAll(store_.get(), {.by = Removal::By::kUser, .subject = kGone}); }
  int64_t SummedReports() {
    EXPECT_TRUE(store_->SumUpForTest().ok());
    const auto causes = store_->Causes({});
    return causes.ok() ? causes->all.sums.reports : -1;
  }
  void Reopen() {
    store_.reset();
    store_ = Open();
  }

  const NewReport gone_ = ReportOfUser(kGone), kept_ = ReportOfUser("kept");
  std::unique_ptr<ClickHouseStore> store_ = Open();
};

TEST_F(Removals, GoOnInAnotherProcess) {
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{gone_, kept_}).ok());
  EXPECT_EQ(SummedReports(), 2);
  RemovalProgress progress;
  ASSERT_TRUE(store_->Remove({.by = Removal::By::kUser, .subject = kGone}, 200, &progress).value());
  EXPECT_EQ(progress.reports, 1);
  // Sums are made while the mutations may be under way, and the process ends before it has marked their end.
  static_cast<void>(store_->SumUpForTest());
  Reopen();
  RemoveUser();
  EXPECT_EQ(SummedReports(), 1);
  EXPECT_FALSE(Has(gone_));
  EXPECT_TRUE(Has(kept_));
}

TEST_F(Removals, TakeWhatWaitsInTheSpool) {
  database_.Drop();
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{gone_, kept_}).ok());
  Reopen();
  RemoveUser();
  EXPECT_FALSE(Has(gone_));
  EXPECT_TRUE(Has(kept_));
}

TEST_F(Removals, TakeWhatWasSetAside) {
  const Schema schema(ClickHouseUrl::Parse(database_.Url()).value());
  Versions versions;
  RecordRows rows(&schema, &versions);
  rows.Add(gone_);
  rows.Add(kept_);
  const std::string spool = directory_ / "spool";
  ASSERT_TRUE(WriteBatchFile(&base::SystemEnv(), spool + "/refused/1.batch", {rows.Take(), {}}).ok());
  RemoveUser();
  std::filesystem::rename(spool + "/refused/1.batch", spool + "/resend/1.batch");
  EXPECT_TRUE(testing::WaitUntil([&] { return Has(kept_); }, 30));
  EXPECT_FALSE(Has(gone_));
  EXPECT_EQ(SummedReports(), 1);
}

TEST_F(Removals, WhatClientsSendAgainIsStoredAgain) {
  const std::vector<NewRecord> records = {gone_, report::HangEnd{gone_.row.id, 5'000'000'000}};
  ASSERT_TRUE(store_->Commit(records).ok());
  EXPECT_EQ(SummedReports(), 1);
  RemoveUser();
  EXPECT_EQ(SummedReports(), 0);
  EXPECT_THAT(*store_->Commit(records), ::testing::Each(CommitOutcome::kStored));
  EXPECT_EQ(SummedReports(), 1);
  EXPECT_EQ(store_->FindReport(gone_.row.id).value()->row.duration_ns, 5'000'000'000);
}

TEST_F(Removals, WorkOnOneServer) {
  store_ = std::move(ClickHouseStore::Open(database_.UrlOfOneNode(), directory_ / "one")).value();
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{gone_, kept_}).ok());
  EXPECT_EQ(SummedReports(), 2);
  RemoveUser();
  EXPECT_EQ(SummedReports(), 1);
  EXPECT_FALSE(Has(gone_));
}

}  // namespace
}  // namespace lagwatch::collector
