// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/collector/http/gzip_text.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kLimitBytes = 100'000;

TEST(Inflate, GivesBackWhatWasCompressed) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{70'000}, kLimitBytes}) {
    std::string content;
    for (size_t i = 0; i < size; ++i) content += static_cast<char>(i * i % 251);
    auto inflated = InflateGzip(testing::GzipText(content), kLimitBytes);
    ASSERT_TRUE(inflated.ok()) << inflated.status().message();
    EXPECT_EQ(*inflated, content);
    EXPECT_LE(inflated->capacity(), kLimitBytes);
  }
}

TEST(Inflate, StopsAtTheLimitOfABomb) {
  std::string bomb = testing::GzipText(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), kLimitBytes);
  auto inflated = InflateGzip(bomb, kLimitBytes);
  ASSERT_FALSE(inflated.ok());
  EXPECT_EQ(inflated.status().code(), base::StatusCode::kTooLarge);
  EXPECT_EQ(InflateGzip(testing::GzipText(std::string(kLimitBytes + 1, 'x')), kLimitBytes).status().code(),
            base::StatusCode::kTooLarge);
}

TEST(Inflate, StopsAtABombThatIsWithinTheLimit) {
  auto free = InflateGzip(testing::GzipText(std::string(kFreeBytes, '\0')), 8 << 20);
  EXPECT_TRUE(free.ok());
  auto inflated = InflateGzip(testing::GzipText(std::string(1 << 20, '\0')), 8 << 20);
  EXPECT_EQ(inflated.status().code(), base::StatusCode::kTooLarge);
}

TEST(Inflate, RefusesWhatIsNotOneWholeMember) {
  std::string good = testing::GzipText("reports and more reports");
  for (const std::string& bad :
       {std::string(), std::string("no gzip at all"), good.substr(0, good.size() / 2),
        good.substr(0, good.size() - 1), good + "x", good + good}) {
    EXPECT_EQ(InflateGzip(bad, kLimitBytes).status().code(), base::StatusCode::kInvalid) << bad.size();
  }
}

TEST(Inflate, SurvivesEveryFlippedBit) {
  std::string good = testing::GzipText("reports and more reports");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string damaged = good;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    auto inflated = InflateGzip(damaged, kLimitBytes);
    // Some bits of the head, the time for one, do not matter to the content.
    EXPECT_TRUE(!inflated.ok() || *inflated == "reports and more reports") << bit;
  }
}

}  // namespace
}  // namespace lagwatch::collector
