// SPDX-License-Identifier: Apache-2.0
#include "collector/sharing/settings_merge.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kLeast = 100;

KnownSetting Known(const std::string& content, int64_t version) {
  return {base::HashBytes(content), version};
}

TEST(SettingsMerge, SendsWhatIsNewHere) {
  const MergedSettings merged = MergeSettings({{"key/a", "A"}}, {}, {}, kLeast);
  EXPECT_EQ(merged.here, (Settings{{"key/a", "A"}}));
  EXPECT_EQ(merged.changes, (SharedSettings{{"key/a", {"A", kLeast}}}));
  EXPECT_EQ(merged.known, (KnownSettings{{"key/a", Known("A", kLeast)}}));
}

TEST(SettingsMerge, TakesWhatIsNewThere) {
  const MergedSettings merged = MergeSettings({{"key/a", "A"}}, {{"key/a", {"A", 5}}, {"key/b", {"B", 6}}},
                                              {{"key/a", Known("A", 5)}}, kLeast);
  EXPECT_EQ(merged.here, (Settings{{"key/a", "A"}, {"key/b", "B"}}));
  EXPECT_TRUE(merged.changes.empty());
}

TEST(SettingsMerge, ARemovalHereIsSent) {
  const MergedSettings merged = MergeSettings({}, {{"key/a", {"A", 5}}}, {{"key/a", Known("A", 5)}}, kLeast);
  EXPECT_TRUE(merged.here.empty());
  EXPECT_EQ(merged.changes, (SharedSettings{{"key/a", {"", kLeast}}}));
}

TEST(SettingsMerge, ARemovalThereHolds) {
  const SharedSettings shared = {{"key/a", {"", 6}}};
  for (const KnownSettings& known : {KnownSettings{{"key/a", Known("A", 5)}}, KnownSettings{}}) {
    const MergedSettings merged = MergeSettings({{"key/a", "A"}}, shared, known, kLeast);
    EXPECT_TRUE(merged.here.empty());
    EXPECT_TRUE(merged.changes.empty());
  }
}

TEST(SettingsMerge, AStoreThatWasLostRemovesNothing) {
  const MergedSettings merged = MergeSettings({{"key/a", "A"}}, {}, {{"key/a", Known("A", 5)}}, kLeast);
  EXPECT_EQ(merged.here, (Settings{{"key/a", "A"}}));
  EXPECT_EQ(merged.changes, (SharedSettings{{"key/a", {"A", 5}}}));
}

TEST(SettingsMerge, AStoreThatWasLostGetsItsRemovalsBack) {
  const KnownSettings known = {{"key/a", Known("", 9)}};
  const MergedSettings merged = MergeSettings({}, {}, known, kLeast);
  EXPECT_TRUE(merged.here.empty());
  EXPECT_EQ(merged.changes, (SharedSettings{{"key/a", {"", 9}}}));
  EXPECT_EQ(merged.known, known);
  // A collector that was away meanwhile sends the key as it knows it: in the lower version.
  const MergedSettings away = MergeSettings({{"key/a", "A"}}, {}, {{"key/a", Known("A", 5)}}, kLeast);
  EXPECT_LT(away.changes.at("key/a").version, merged.changes.at("key/a").version);
}

TEST(SettingsMerge, TheRemovalOfAKeyHoldsAgainstALaterChange) {
  const MergedSettings merged =
      MergeSettings({{"key/a", "rotated"}}, {{"key/a", {"", 6}}}, {{"key/a", Known("A", 5)}}, kLeast);
  EXPECT_TRUE(merged.here.empty());
  EXPECT_TRUE(merged.changes.empty());
  EXPECT_EQ(merged.known, (KnownSettings{{"key/a", Known("", 6)}}));
}

TEST(SettingsMerge, AnOlderStateIsReplacedByTheKnownVersion) {
  // A revoked key, and a changed config, whose older rows are read.
  const MergedSettings merged =
      MergeSettings({{"config", "new"}}, {{"key/a", {"A", 5}}, {"config", {"old", 5}}},
                    {{"key/a", Known("", 9)}, {"config", Known("new", 9)}}, kLeast);
  EXPECT_EQ(merged.here, (Settings{{"config", "new"}}));
  EXPECT_EQ(merged.changes, (SharedSettings{{"key/a", {"", 9}}, {"config", {"new", 9}}}));
  EXPECT_EQ(merged.known, (KnownSettings{{"key/a", Known("", 9)}, {"config", Known("new", 9)}}));
}

TEST(SettingsMerge, OfTwoChangesTheLaterSentOneHoldsEverywhere) {
  const KnownSettings known = {{"config", Known("old", 5)}};
  const MergedSettings first = MergeSettings({{"config", "one"}}, {{"config", {"old", 5}}}, known, kLeast);
  const MergedSettings second = MergeSettings({{"config", "two"}}, first.changes, known, kLeast);
  EXPECT_EQ(second.changes, (SharedSettings{{"config", {"two", kLeast + 1}}}));
  const MergedSettings third = MergeSettings(first.here, second.changes, first.known, kLeast);
  EXPECT_EQ(third.here, (Settings{{"config", "two"}}));
  EXPECT_TRUE(third.changes.empty());
}

TEST(SettingsMerge, OneThatJoinsTakesTheFleetsConfig) {
  const MergedSettings merged = MergeSettings({{"config", "mine"}}, {{"config", {"theirs", 5}}}, {}, kLeast);
  EXPECT_EQ(merged.here, (Settings{{"config", "theirs"}}));
  EXPECT_TRUE(merged.changes.empty());
}

}  // namespace
}  // namespace lagwatch::collector
