// SPDX-License-Identifier: Apache-2.0
// Makes this program's tests about ClickHouse.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

#include "collector/store/clickhouse/clickhouse_store.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {
namespace {

struct Place {
  OwnDatabase database;
  ScopedTempDirectory directory;
};

bool SumsUp() { return getenv("LAGWATCH_SUM_UP_BEFORE_ANSWERS") != nullptr; }

// The others' answers come of the same statements on one server, which makes a database in a fifteenth of the
// processor time.
bool IsOfCluster() {
  constexpr std::array<std::string_view, 3> kSuites = {"CauseTotals", "Retention", "Store"};
  const ::testing::UnitTest& tests = *::testing::UnitTest::GetInstance();
  if (SumsUp() && tests.current_test_info()->name() != std::string_view("AreThoseOfTheReports")) return false;
  return std::ranges::find(kSuites, tests.current_test_suite()->name()) != kSuites.end();
}

class Places final : public ::testing::Environment {
 public:
  void SetUp() override {
    open_store = []() -> std::unique_ptr<collector::Store> {
      const Place& place = places_.emplace_back();
      const std::string url = IsOfCluster() ? place.database.Url() : place.database.UrlOfOneNode();
      auto store = collector::ClickHouseStore::Open(url, place.directory / "spool");
      EXPECT_TRUE(store.ok()) << store.status().message();
      if (SumsUp()) (*store)->SumUpBeforeAnswersForTest();
      return std::move(store).value();
    };
  }
  void TearDown() override { places_.clear(); }

 private:
  static inline std::deque<Place> places_;
};

const auto* const kPlaces = ::testing::AddGlobalTestEnvironment(new Places);

}  // namespace
}  // namespace lagwatch::testing
