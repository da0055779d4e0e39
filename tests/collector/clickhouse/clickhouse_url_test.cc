// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/clickhouse_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ClickHouseUrl, HasEachPart) {
  const auto url =
      ClickHouseUrl::Parse("clickhouse://lag:p%40ss%3A@ch1:8124,ch2,[::1]:9/fleet-2?cluster=bars");
  ASSERT_TRUE(url.ok()) << url.status().message();
  EXPECT_EQ(url->user, "lag");
  EXPECT_EQ(url->password, "p@ss:");
  EXPECT_THAT(url->nodes, ElementsAre("ch1:8124", "ch2:8123", "[::1]:9"));
  EXPECT_EQ(url->database, "fleet-2");
  EXPECT_EQ(url->cluster, "bars");
}

TEST(ClickHouseUrl, NeedsOnlyANode) {
  const auto url = ClickHouseUrl::Parse("clickhouse://ch1");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->user, "default");
  EXPECT_EQ(url->password, "");
  EXPECT_THAT(url->nodes, ElementsAre("ch1:8123"));
  EXPECT_EQ(url->database, "lagwatch");
  EXPECT_EQ(url->cluster, "");
}

TEST(ClickHouseUrl, RefusesWhatItCannotKeepAndTellsNoPassword) {
  for (const char* text :
       {"http://ch1", "clickhouse://", "clickhouse://u:secret@", "clickhouse://u:secret@ch1,,ch2",
        "clickhouse://u:secret@ch1/a`b", "clickhouse://u:secret@ch1/a?cluster=b'c",
        "clickhouse://u:secret@ch1?cluster=", "clickhouse://u:secret@ch1/a?shards=2"}) {
    const auto url = ClickHouseUrl::Parse(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().code(), base::StatusCode::kInvalid);
    EXPECT_THAT(url.status().message(), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace lagwatch::collector
