// SPDX-License-Identifier: Apache-2.0
// Makes this program's tests about ClickHouse.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

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

class Places final : public ::testing::Environment {
 public:
  void SetUp() override {
    open_store = []() -> std::unique_ptr<collector::Store> {
      const Place& place = places_.emplace_back();
      auto store = collector::ClickHouseStore::Open(place.database.Url(), place.directory / "spool");
      EXPECT_TRUE(store.ok()) << store.status().message();
      if (getenv("LAGWATCH_SUM_UP_BEFORE_ANSWERS") != nullptr) (*store)->SumUpBeforeAnswersForTest();
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
