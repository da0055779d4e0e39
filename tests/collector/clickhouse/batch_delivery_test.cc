// SPDX-License-Identifier: Apache-2.0
// The rows of a batch that reach ClickHouse when it refuses some. The server is a function here, so that each
// of its answers comes at a chosen insertion; refused_test.cc has the real one.
#include "collector/store/clickhouse/insert/batch_delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "collector/store/clickhouse/insert/batch_rows.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/clickhouse/server/connection.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SampleReport;
using ::testing::SizeIs;

const ClickHouseUrl& DeliveryUrl() {
  static const ClickHouseUrl kUrl = ClickHouseUrl::Parse("clickhouse://h:1/db?cluster=c").value();
  return kUrl;
}

// Reports of these users, and an end of the first one.
Batch BatchOfUsers(const std::vector<std::string>& users) {
  static const Schema kSchema(DeliveryUrl());
  static Versions versions;
  RecordRows rows(&kSchema, &versions);
  for (const std::string& user : users) {
    SampleReport sample;
    sample.header.user = user;
    const std::string payload = sample.Encode();
    const report::Report decoded = report::DecodeReport(payload).value();
    rows.Add(NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload));
    if (user == users.front()) rows.Add(report::HangEnd{sample.header.id, 5});
  }
  return {rows.Take(), {"key"}};
}

// Takes what has none of the refused users in it; counts what it was sent.
class RefusingServer {
 public:
  explicit RefusingServer(std::set<std::string> refused) : refused_(std::move(refused)) {}

  void Insert(const std::string& target, const std::string& rows) {
    ++insertions;
    const Table* table = TableOf(target);
    ASSERT_NE(table, nullptr) << target;
    if (is_away) throw ClickHouseError("away");
    for (const std::string& user : refused_) {
      if (table->name == kReports.name && rows.find(user) != std::string::npos)
        throw ClickHouseError("Code: 6: " + user, true);
    }
    if (table->name == refused_table) throw ClickHouseError("Code: 16", true);
    const Batch::Part part{target, rows};
    const std::vector<std::string_view> each = RowsOf(part);
    ASSERT_FALSE(each.empty());
    for (std::string_view row : each) taken[std::string(table->name)].insert(std::string(row));
    order.emplace_back(table->name);
  }
  Delivery Take(const Batch& batch, bool sets_aside = true) {
    return Deliver(
        batch, [&](const std::string& target, const std::string& rows) { Insert(target, rows); }, sets_aside);
  }
  size_t Count(const Table& table) { return taken[std::string(table.name)].size(); }

  std::map<std::string, std::set<std::string>> taken;  // rows by table
  std::vector<std::string> order;
  int insertions = 0;
  bool is_away = false;
  std::string_view refused_table;

 private:
  const std::set<std::string> refused_;
};

std::vector<std::string> ManyUsers(int count) {
  std::vector<std::string> users;
  for (int i = 0; i < count; ++i) users.push_back("user-" + std::to_string(i) + ";");
  return users;
}

TEST(BatchDelivery, OnlyTheRefusedRowsAreSetAside) {
  RefusingServer server({"user-7;", "user-30;"});
  const Delivery delivery = server.Take(BatchOfUsers(ManyUsers(40)));
  EXPECT_EQ(delivery.refused_rows, 2u);
  EXPECT_EQ(server.Count(kReports), 38u);
  EXPECT_EQ(server.Count(kEnds), 1u);
  EXPECT_EQ(server.order.back(), kMarks.name);
  EXPECT_THAT(delivery.reason, ::testing::HasSubstr("Code: 6"));
  // A batch that was set aside has its marks, and is accepted once the cause is mended.
  ASSERT_THAT(delivery.refused.parts, SizeIs(2));
  EXPECT_TRUE(IsOfMarks(delivery.refused.parts[1]));
  RefusingServer mended({});
  EXPECT_THAT(mended.Take(delivery.refused).refused.parts, IsEmpty());
  EXPECT_EQ(mended.Count(kReports), 2u);
  EXPECT_EQ(mended.order.back(), kMarks.name);
}

TEST(BatchDelivery, MarksDoNotComeWithoutRows) {
  RefusingServer server({"user-0;"});
  const Delivery refused =
      server.Take({{BatchOfUsers({"user-0;"}).parts[0], BatchOfUsers({"u"}).parts.back()}, {}});
  EXPECT_THAT(server.order, IsEmpty());
  EXPECT_THAT(refused.refused.parts, SizeIs(2));
  // Of batches that have marks alone, they do.
  server.Take({{BatchOfUsers({"u"}).parts.back()}, {}});
  EXPECT_THAT(server.order, ElementsAre(kMarks.name));
}

TEST(BatchDelivery, NothingIsSetAsideForWhatMayPass) {
  RefusingServer server({"user-3;"});
  const Batch batch = BatchOfUsers(ManyUsers(10));
  EXPECT_THROW(server.Take(batch, false), ClickHouseError);
  EXPECT_EQ(server.insertions, 1);
  server.is_away = true;
  EXPECT_THROW(server.Take(batch), ClickHouseError);
  // Nor for a refusal of marks.
  RefusingServer of_marks({});
  of_marks.refused_table = kMarks.name;
  EXPECT_THROW(of_marks.Take(batch), ClickHouseError);
  EXPECT_EQ(of_marks.Count(kReports), 10u);
}

TEST(BatchDelivery, ATableThatRefusesAllCostsABoundedNumberOfInsertions) {
  RefusingServer server({});
  server.refused_table = kReports.name;
  const Batch batch = BatchOfUsers(ManyUsers(1000));
  const Delivery delivery = server.Take(batch);
  EXPECT_EQ(delivery.refused_rows, 1000u);
  EXPECT_EQ(delivery.refused.parts[0].rows.size(), batch.parts[0].rows.size());
  EXPECT_LT(server.insertions, 100);
  EXPECT_EQ(server.Count(kEnds), 1u);
}

TEST(BatchDelivery, RenewedMarksAreOfTheSameUnits) {
  Versions versions;
  Batch batch = BatchOfUsers(ManyUsers(3));
  const Batch::Part before = batch.parts.back();
  RenewMarks(&batch, &versions);
  const auto old_rows = RowsOf(before);
  const auto new_rows = RowsOf(batch.parts.back());
  ASSERT_EQ(new_rows.size(), old_rows.size());
  ASSERT_FALSE(new_rows.empty());
  for (size_t i = 0; i < new_rows.size(); ++i) {
    EXPECT_EQ(new_rows[i].substr(0, 10), old_rows[i].substr(0, 10));  // day, unit
    std::string_view numbers = new_rows[i].substr(10);
    Row row;
    ASSERT_TRUE(row.Take("iii", &numbers));
    EXPECT_EQ(row.Int(0), versions.collector());
    EXPECT_EQ(row.Int(1), 1);
    EXPECT_EQ(row.Int(2), 1);
  }
}

TEST(BatchRows, AllTablesAreKnownByTheirTargets) {
  for (const ClickHouseUrl& url : {DeliveryUrl(), ClickHouseUrl::Parse("clickhouse://h:1/db").value()}) {
    for (const Table& table : kTables) {
      const Table* found = TableOf(Schema(url).Target(table));
      ASSERT_NE(found, nullptr) << table.name;
      EXPECT_EQ(found->name, table.name);
    }
  }
  EXPECT_EQ(TableOf("`db`.reports_v9 (id)"), nullptr);
}

TEST(Refusals, AreForGoodOnlyWhenTheRowsAreWrong) {
  for (const int code : {6, 16, 131}) EXPECT_TRUE(IsRefusalForGood(500, code)) << code;
  // No such table, no such database, read-only, memory, too many parts, ZooKeeper, timeouts,
  // wrong password, quota.
  for (const int code : {60, 81, 242, 164, 241, 252, 999, 159, 209, 210, 193, 194, 201, 202, 319})
    EXPECT_FALSE(IsRefusalForGood(500, code)) << code;
  for (const long status : {400, 413}) EXPECT_TRUE(IsRefusalForGood(status, 0)) << status;
  for (const long status : {401, 403, 404, 408, 429, 500, 502, 503, 504})
    EXPECT_FALSE(IsRefusalForGood(status, 0)) << status;
}

}  // namespace
}  // namespace lagwatch::collector
