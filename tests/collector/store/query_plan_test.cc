// SPDX-License-Identifier: Apache-2.0
// SQLite's plans for frequent queries: they use indexes, and scan no large table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <mutex>
#include <set>

#include "collector/ingest/ingest.h"
#include "collector/query/query_api.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SampleReport;
using ::testing::StartsWith;

// The SQL that any connection of this program runs while this is there.
class StatementLog {
 public:
  StatementLog() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&Attach)); }
  ~StatementLog() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&Attach)); }

  static std::set<std::string> Take() {
    std::lock_guard lock(mutex);
    return std::exchange(seen, {});
  }

 private:
  static int Attach(sqlite3* connection, const char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, &Note, nullptr);
  }
  static int Note(unsigned, void*, void* statement, void*) {
    std::lock_guard lock(mutex);
    seen.insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
    return 0;
  }

  static inline std::mutex mutex;
  static inline std::set<std::string> seen;
};

// Small whatever is stored: a row for each program's version, loop and so on, or for each annotated cluster.
bool IsOfASmallTable(const std::string& step) {
  for (const char* table : {"segments", "cluster_notes", "json_each", "CONSTANT ROW", "(subquery"}) {
    if (step.find(table) != step.npos) return true;
  }
  return false;
}

// Made to have all that is asked of it: the rows that it is for are many times as large.
bool LooksUpRowsOfACoveringIndex(const std::string& step) {
  return step.find(" USING INDEX cluster_sums_of_segments") != step.npos;
}

// The steps of a statement's plan that go over a whole table, or over more of its rows than they should.
std::vector<std::string> ScansOf(sqlite3* connection, const std::string& sql) {
  std::vector<std::string> scans;
  std::multiset<std::string> made;  // on the way: as small as what is asked for
  sqlite3_stmt* plan = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(connection, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &plan, nullptr),
            SQLITE_OK)
      << sql;
  while (sqlite3_step(plan) == SQLITE_ROW) {
    const std::string step = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
    for (const std::string way : {"MATERIALIZE ", "CO-ROUTINE "}) {
      if (step.starts_with(way)) made.insert(step.substr(way.size()));
    }
    if (LooksUpRowsOfACoveringIndex(step)) scans.push_back(step + " of: " + sql);
    if (!step.starts_with("SCAN ") || IsOfASmallTable(step)) continue;
    const auto own = made.find(step.substr(5));
    if (own != made.end()) {
      made.erase(own);
    } else {
      scans.push_back(step + " of: " + sql);
    }
  }
  sqlite3_finalize(plan);
  return scans;
}

class QueryPlanTest : public ::testing::Test {
 protected:
  QueryPlanTest() {
    std::vector<std::string> reports;
    for (int i = 0; i < 500; ++i) {
      SampleReport report{
          .stack = {"Work" + std::to_string(i % 40), "Run" + std::to_string(i % 80), "Loop", "Top"}};
      const std::string version = std::to_string(i % 3);
      report.header.app_version = version;
      reports.push_back(report.Encode());
      id_ = base::ToString(report.header.id);
    }
    EXPECT_EQ(ingest_.Submit(testing::EncodeBatch(reports))->accepted, 500);
    key_ = store_->Causes({})->causes.front().cluster.key;
  }

  std::vector<std::string> ScansFor(const std::string& path, const std::string& query = "") {
    StatementLog::Take();
    EXPECT_EQ(api_.Get(path, query).status, 200) << path;
    const std::set<std::string> statements = StatementLog::Take();
    EXPECT_FALSE(statements.empty());
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open((directory_ / "collector.db").c_str(), &connection), SQLITE_OK);
    std::vector<std::string> scans;
    for (const std::string& sql : statements) {
      const size_t begin = sql.find_first_not_of(" \n");
      if (begin == std::string::npos || !sql.substr(begin).starts_with("SELECT")) continue;
      for (std::string& scan : ScansOf(connection, sql)) scans.push_back(std::move(scan));
    }
    sqlite3_close(connection);
    return scans;
  }

  StatementLog log_;
  testing::ScopedTempDirectory directory_;
  std::unique_ptr<SqliteStore> store_ = std::move(SqliteStore::Open(directory_ / "collector.db").value());
  Ingest ingest_{store_.get(), Clusterer::Create("").value()};
  QueryApi api_{store_.get(), Clusterer::Create("")->rules()};
  std::string id_, key_;
};

TEST_F(QueryPlanTest, TheListOfCausesIsReadFromAnIndex) {
  EXPECT_THAT(ScansFor("/v1/clusters"), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters", "level=2&limit=10&offset=20"), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters", "version=1"), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters", "days=90"), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters", "from_ms=1700000000000"), IsEmpty());
}

// There is no index of texts within names: all names are scanned, less than a hundredth of a database. The
// matches are looked up like the rest.
TEST_F(QueryPlanTest, ASearchGoesOverNamesAlone) {
  for (const char* query : {"q=work1", "q=work1&version=1", "q=work1&from_ms=1700000000000"}) {
    EXPECT_THAT(ScansFor("/v1/clusters", query), ElementsAre(StartsWith("SCAN clusters of: "))) << query;
  }
}

TEST_F(QueryPlanTest, SoIsACause) {
  EXPECT_THAT(ScansFor("/v1/clusters/" + key_), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters/" + key_, "trend=hour"), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters/" + key_, "by=version"), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/clusters/" + key_ + "/samples"), IsEmpty());
}

TEST_F(QueryPlanTest, SoAreReports) {
  EXPECT_THAT(ScansFor("/v1/reports/" + id_), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/reports/" + id_.substr(0, 34)), IsEmpty());
  EXPECT_THAT(ScansFor("/v1/reports", "cluster=" + key_), IsEmpty());
}

TEST_F(QueryPlanTest, AScanWouldBeFound) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ / "collector.db").c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(ScansOf(connection, "SELECT lag_id FROM reports WHERE elapsed_ns > 7").size(), 1u);
  sqlite3_close(connection);
}

}  // namespace
}  // namespace lagwatch::collector
