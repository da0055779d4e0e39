// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/key_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using Outcome = KeyCheck::Outcome;

constexpr int64_t kToday = 1'700'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

class KeyRingTest : public ::testing::Test {
 protected:
  Outcome Check(const std::string& key, int64_t now_wall_ms = kToday) {
    return ring_.Check("Bearer " + key, now_wall_ms).outcome;
  }

  testing::ScopedTempDirectory directory_;
  KeyFile file_{directory_ / "keys.json"};
  KeyRing ring_{{{"k_given", Access::kProject}}, file_};
};

TEST_F(KeyRingTest, KnowsKeysByTheirWholeText) {
  EXPECT_EQ(Check("k_given"), Outcome::kKnown);
  EXPECT_EQ(ring_.Check("bearer  k_given ", kToday).key.access, Access::kProject);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer   ", "Basic k_given", "k_given", "Bearer k_give",
                            "Bearer k_givenn", "Bearer k_given k_given"})
    EXPECT_EQ(ring_.Check(wrong, kToday).outcome, Outcome::kUnknown) << wrong;
}

TEST_F(KeyRingTest, SeesAtOnceWhatBecomesOfAKey) {
  const std::string text = file_.Add({.name = "a", .access = Access::kAdmin}, kToday).value();
  EXPECT_EQ(Check(text), Outcome::kKnown);
  EXPECT_EQ(ring_.Check("Bearer " + text, kToday).key.name, "a");
  ASSERT_TRUE(file_.Add({.name = "b", .replaces = "a", .overlap_ms = 1000}, kToday).ok());
  EXPECT_EQ(Check(text, kToday + 999), Outcome::kKnown);
  EXPECT_EQ(Check(text, kToday + 1000), Outcome::kExpired);
  ASSERT_TRUE(file_.Revoke("a").ok());
  EXPECT_EQ(Check(text), Outcome::kUnknown);
  EXPECT_EQ(Check("k_given"), Outcome::kKnown);
}

TEST_F(KeyRingTest, KeepsItsKeysWhileTheFileIsDamaged) {
  const std::string text = file_.Add({.name = "a"}, kToday).value();
  EXPECT_EQ(Check(text), Outcome::kKnown);
  std::filesystem::copy(file_.path(), directory_ / "good");
  std::ofstream(file_.path()) << "{";
  EXPECT_EQ(Check(text), Outcome::kKnown);
  std::filesystem::remove(file_.path());
  EXPECT_EQ(Check(text), Outcome::kUnknown);
}

TEST_F(KeyRingTest, LetsAKeySendWhatItsQuotaAllows) {
  const KeyRecord key{.name = "a", .digest = DigestOf("a"), .quota = {.reports_per_s = 2}};
  EXPECT_FALSE(ring_.CheckQuota(key, 1 << 20, kSecond));
  ring_.Charge(key, 1 << 20, 29, kSecond);  // 20 at once, 9 more than there were
  auto refusal = ring_.CheckQuota(key, 1, kSecond);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->wait_s, 5);
  EXPECT_THAT(refusal->reason, ::testing::HasSubstr("reports"));
  EXPECT_TRUE(ring_.CheckQuota(key, 1, 5 * kSecond));
  EXPECT_FALSE(ring_.CheckQuota(key, 1, 6 * kSecond));
}

TEST_F(KeyRingTest, CountsBytesOverTheDay) {
  const KeyRecord key{.name = "a", .digest = DigestOf("a"), .quota = {.bytes_per_day = 86'400}};
  EXPECT_FALSE(ring_.CheckQuota(key, 80'000, kSecond));
  ring_.Charge(key, 80'000, 1, kSecond);
  EXPECT_FALSE(ring_.CheckQuota(key, 6'400, kSecond));
  auto refusal = ring_.CheckQuota(key, 6'500, kSecond);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->wait_s, 100);
  EXPECT_FALSE(ring_.CheckQuota(key, 6'500, 101 * kSecond));
}

TEST_F(KeyRingTest, OneNetworkLeavesOthersAPartOfTheQuota) {
  const KeyRecord key{.name = "a", .digest = DigestOf("a"), .quota = {.reports_per_s = 16}};
  int64_t sent = 0;
  const auto try_send = [&](const std::string& network, int64_t now_ns) {
    if (ring_.CheckQuota(key, 1, now_ns, network)) return false;
    ring_.Charge(key, 1, 1, now_ns, network);
    ++sent;
    return true;
  };
  while (try_send("one", kSecond)) {
  }
  EXPECT_GE(sent, 80);  // half of the bucket, and its part of the rest
  EXPECT_LE(sent, 91);
  EXPECT_TRUE(try_send("two", kSecond));
  // Alone, it has the whole rate.
  sent = 0;
  for (int64_t second = 2; second < 102; ++second) {
    while (try_send("one", second * kSecond)) {
    }
  }
  EXPECT_GE(sent, 1500);
  EXPECT_TRUE(try_send("three", 101 * kSecond));
}

TEST_F(KeyRingTest, LimitsNoKeyWithoutAQuota) {
  const KeyRecord key{.name = "a"};
  ring_.Charge(key, UINT64_MAX, UINT64_MAX, kSecond);
  EXPECT_FALSE(ring_.CheckQuota(key, UINT64_MAX, kSecond));
}

}  // namespace
}  // namespace lagwatch::collector
