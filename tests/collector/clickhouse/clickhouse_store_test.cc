// SPDX-License-Identifier: Apache-2.0
// Behaviour of a store in ClickHouse only.
#include "collector/store/clickhouse/clickhouse_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "collector/store/query_limit.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SampleReport;

NewReport ReportOf(const SampleReport& sample) {
  const std::string payload = sample.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  return NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload);
}

class ClickHouse : public ::testing::Test {
 protected:
  std::unique_ptr<ClickHouseStore> Open(const std::string& collector) {
    auto store = ClickHouseStore::Open(database_.Url(), directory_ / collector);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(store).value();
  }

  testing::ScopedTempDirectory directory_;
  testing::OwnDatabase database_;
  SampleReport sample_;
};

TEST_F(ClickHouse, WhatOneCollectorStoredTheOthersSee) {
  auto one = Open("one");
  auto other = Open("other");
  const std::vector<NewRecord> records = {ReportOf(sample_)};
  EXPECT_THAT(*one->Commit(records), ElementsAre(CommitOutcome::kStored));
  EXPECT_THAT(*other->Commit(records), ElementsAre(CommitOutcome::kDuplicate));
  const auto found = other->FindReport(sample_.header.id).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->payload, sample_.Encode());
  EXPECT_EQ(found->row.app, "editor");
}

TEST_F(ClickHouse, WhatItDoesNotTakeIsKeptAndSentWhenItDoes) {
  const std::vector<NewRecord> records = {ReportOf(sample_), report::HangEnd{sample_.header.id, 5}};
  {
    auto store = Open("one");
    database_.Drop();
    EXPECT_THAT(*store->Commit(records), Each(CommitOutcome::kStored));
    EXPECT_THAT(*store->Commit(records), Each(CommitOutcome::kDuplicate));
    EXPECT_EQ(store->FindReport(sample_.header.id).status().code(), base::StatusCode::kUnavailable);
  }
  auto store = Open("one");
  EXPECT_TRUE(testing::WaitUntil([&] { return store->FindReport(sample_.header.id)->has_value(); }));
  EXPECT_THAT(*store->Commit(records), Each(CommitOutcome::kDuplicate));
}

TEST_F(ClickHouse, RowsThatAreThereTwiceCountOnce) {
  auto store = Open("one");
  const std::vector<NewRecord> records = {ReportOf(sample_), report::HangEnd{sample_.header.id, 5},
                                          report::Losses{.id = sample_.header.id, .losses = {{.count = 3}}}};
  ASSERT_TRUE(store->Commit(records).ok());
  // As if a batch were sent again after its block had been forgotten: as other bytes of the same.
  const ClickHouseUrl url = ClickHouseUrl::Parse(database_.Url()).value();
  const Schema schema(url);
  Versions versions;
  RecordRows rows(&schema, &versions);
  for (const NewRecord& record : records) std::visit([&](const auto& known) { rows.Add(known); }, record);
  Connection connection(url);
  for (const Batch::Part& part : rows.Take()) connection.Insert(part.target, part.rows);

  EXPECT_EQ(store->Reports({}, 10)->size(), 1u);
  EXPECT_EQ(store->Causes({})->all.sums.reports, 1);
  EXPECT_EQ(store->Causes({})->all.sums.hangs, 1);
  EXPECT_EQ(store->Losses({})->at(0).count, 3);
}

TEST_F(ClickHouse, TextsOfFiltersAreNoStatements) {
  auto store = Open("one");
  const std::string user = std::string("o'brien\\' OR 1 -- \n") + '\0' + "\xff";
  sample_.header.user = user;
  ASSERT_TRUE(store->Commit(std::vector<NewRecord>{ReportOf(sample_), ReportOf(SampleReport())}).ok());
  const auto found = store->Reports({.user = user}, 10);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->at(0).id, sample_.header.id);
}

// Of queries that clients with a deadline have, those that ClickHouse works on now.
int64_t LimitedQueries(Connection* connection) {
  int64_t count = 0;
  for (size_t node = 0; node < connection->node_count(); ++node) {
    connection->SelectAt(node,
                         "SELECT toInt64(count()) FROM system.processes WHERE query_id LIKE 'lagwatch-%'"
                         " AND query LIKE '%sleepEachRow%'",
                         "i", [&](const Row& row) { count += row.Int(0); });
  }
  return count;
}

TEST_F(ClickHouse, AQueryEndsWithItsClient) {
  Connection connection(ClickHouseUrl::Parse(database_.Url()).value());
  constexpr char kSlow[] =
      "SELECT toInt64(sum(sleepEachRow(0.01))) FROM numbers(1000000)"
      " SETTINGS max_block_size = 1";
  QueryLimit limit(std::chrono::hours(1));
  std::thread client([&] {
    EXPECT_TRUE(testing::WaitUntil([&] { return LimitedQueries(&connection) == 1; }));
    limit.Cancel();
  });
  {
    const QueryLimit::Scope scope(&limit);
    EXPECT_THROW(connection.Select(kSlow, "i", [](const Row&) {}), ClickHouseError);
  }
  client.join();
  EXPECT_TRUE(testing::WaitUntil([&] { return LimitedQueries(&connection) == 0; }));
}

TEST_F(ClickHouse, AQueryHasADeadline) {
  auto store = Open("one");
  const QueryLimit limit(std::chrono::milliseconds(0));
  const QueryLimit::Scope scope(&limit);
  EXPECT_THAT(store->Causes({}).status().message(), HasSubstr("longer than 0 s"));
  Connection connection(ClickHouseUrl::Parse(database_.Url()).value());
  const QueryLimit soon(std::chrono::milliseconds(300));
  const QueryLimit::Scope inner(&soon);
  EXPECT_THROW(connection.Select("SELECT toInt64(sum(sleepEachRow(0.01))) FROM numbers(1000000)"
                                 " SETTINGS max_block_size = 1",
                                 "i", [](const Row&) {}),
               ClickHouseError);
}

TEST_F(ClickHouse, ANodeThatDoesNotAnswerIsLeftOut) {
  auto made = Open("one");
  const std::string url = database_.Url();
  const std::string with_dead_node = "clickhouse://127.0.0.1:9," + url.substr(kClickHouseScheme.size());
  auto store = ClickHouseStore::Open(with_dead_node, directory_ / "other");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_THAT(*(*store)->Commit(std::vector<NewRecord>{ReportOf(sample_)}),
              ElementsAre(CommitOutcome::kStored));
  EXPECT_TRUE(made->FindReport(sample_.header.id)->has_value());
}

TEST_F(ClickHouse, SaysThatNoNodeAnswers) {
  const auto refused = ClickHouseStore::Open("clickhouse://127.0.0.1:9", directory_ / "one");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), base::StatusCode::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("127.0.0.1:9"));
}

TEST_F(ClickHouse, MayBeOneServer) {
  auto store = ClickHouseStore::Open(database_.UrlOfOneNode(), directory_ / "one");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_THAT(*(*store)->Commit(std::vector<NewRecord>{ReportOf(sample_)}),
              ElementsAre(CommitOutcome::kStored));
  EXPECT_EQ(
      (*store)->Causes({.filter = {.cluster_key = ReportOf(sample_).clusters[1].key}})->all.sums.reports, 1);
}

}  // namespace
}  // namespace lagwatch::collector
