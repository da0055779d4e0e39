// SPDX-License-Identifier: Apache-2.0
#include "report/config/config_fetcher.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/report/config_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::report {
namespace {

using testing::ConfigSigner;
using testing::kHourMs;
using testing::kNowMs;
using ConfigKind = ConfigAnswer::AnswerKind;

class ScriptedSource final : public ConfigSource {
 public:
  ConfigAnswer Fetch(const std::string& etag) override {
    etags.push_back(etag);
    return answer;
  }
  void Abort() override {}

  ConfigAnswer answer;
  std::vector<std::string> etags;  // that were sent along
};

class ConfigFetcherTest : public ::testing::Test {
 protected:
  void PollAt(int64_t mono_ms, uint64_t random = 0) { fetcher_.Poll(mono_ms, kNowMs + mono_ms, random); }
  size_t fetches() const { return source_.etags.size(); }

  lagwatch::testing::ScopedTempDirectory directory_;
  ConfigSigner signer_;
  ConfigStore store_{&base::SystemEnv(), directory_.path(), signer_.public_key(), {"editor", "u-1"}};
  ScriptedSource source_;
  ConfigFetcher fetcher_{&source_, &store_};
};

TEST_F(ConfigFetcherTest, AsksAtTheStartAndEverySixHoursMoreOrLess) {
  source_.answer = {.kind = ConfigKind::kNone};
  PollAt(5);
  EXPECT_EQ(fetches(), 1u);
  PollAt(6 * kHourMs * 8 / 10);
  EXPECT_EQ(fetches(), 1u);
  PollAt(5 + 6 * kHourMs * 9 / 10, /*random=*/UINT64_MAX);
  EXPECT_EQ(fetches(), 2u);
  PollAt(5 + 6 * kHourMs * 2);
  EXPECT_EQ(fetches(), 3u);
}

TEST_F(ConfigFetcherTest, SendsTheEtagAlongAndKeepsWhatIsNotModified) {
  source_.answer = {.kind = ConfigKind::kDocument,
                    .envelope = signer_.Envelope(7, {{"expires_wall_ms", kNowMs + 100 * kHourMs}}),
                    .etag = "\"a\""};
  PollAt(0);
  ASSERT_TRUE(store_.Current(kNowMs));
  source_.answer = {.kind = ConfigKind::kNotModified};
  PollAt(7 * kHourMs);
  ASSERT_EQ(fetches(), 2u);
  EXPECT_EQ(source_.etags[0], "");
  EXPECT_EQ(source_.etags[1], "\"a\"");
  EXPECT_EQ(store_.Current(kNowMs)->version, 7u);
  PollAt(8 * kHourMs);
  EXPECT_EQ(fetches(), 2u);
}

TEST_F(ConfigFetcherTest, AsksForTheWholeOnceItHasExpired) {
  source_.answer = {.kind = ConfigKind::kDocument, .envelope = signer_.Envelope(7), .etag = "\"a\""};
  PollAt(0);
  PollAt(7 * kHourMs);
  ASSERT_EQ(fetches(), 2u);
  EXPECT_EQ(source_.etags[1], "");
}

TEST_F(ConfigFetcherTest, WaitsLongerAfterEachFailure) {
  int64_t last_ms = 0;
  std::vector<int64_t> waits_ms;
  for (int64_t now_ms = 0; waits_ms.size() < 12; now_ms += 1'000) {
    const size_t before = fetches();
    PollAt(now_ms, /*random=*/0);
    if (fetches() == before) continue;
    waits_ms.push_back(now_ms - last_ms);
    last_ms = now_ms;
    ASSERT_LE(now_ms, 20 * kHourMs);
  }
  for (size_t i = 1; i < waits_ms.size(); ++i) {
    EXPECT_GE(waits_ms[i], 15'000);
    EXPECT_LE(waits_ms[i], kHourMs + 1'000);
  }
}

TEST_F(ConfigFetcherTest, WaitsAsLongAsItIsToldButNoLongerThanADay) {
  source_.answer.retry_after_s = 7'200;
  PollAt(0);
  PollAt(7'199'000);
  EXPECT_EQ(fetches(), 1u);
  source_.answer.retry_after_s = INT64_MAX;
  PollAt(7'200'000);
  EXPECT_EQ(fetches(), 2u);
  PollAt(7'200'000 + 24 * kHourMs);
  EXPECT_EQ(fetches(), 3u);
}

TEST_F(ConfigFetcherTest, CountsABadDocumentAsAFailure) {
  source_.answer = {.kind = ConfigKind::kDocument, .envelope = "<html>", .etag = "\"a\""};
  PollAt(0);
  PollAt(61'000);
  ASSERT_EQ(fetches(), 2u);
  EXPECT_EQ(source_.etags[1], "");
}

TEST_F(ConfigFetcherTest, AsksWhenAnUploadTellsOfAnotherVersionOnceForEach) {
  source_.answer = {.kind = ConfigKind::kDocument, .envelope = signer_.Envelope(7), .etag = {}};
  PollAt(0);
  fetcher_.NoteVersion(7, kNowMs);
  fetcher_.NoteVersion(0, kNowMs);
  PollAt(61'000);
  EXPECT_EQ(fetches(), 1u);
  fetcher_.NoteVersion(8, kNowMs);
  PollAt(62'000);
  EXPECT_EQ(fetches(), 2u);
  fetcher_.NoteVersion(8, kNowMs);
  PollAt(200'000);
  EXPECT_EQ(fetches(), 2u);
  for (uint64_t version = 100; version < 110; ++version) {
    fetcher_.NoteVersion(version, kNowMs);
    PollAt(200'000 + static_cast<int64_t>(version));
  }
  EXPECT_EQ(fetches(), 3u);
}

TEST_F(ConfigFetcherTest, FetchesSoonerIfItIsWanted) {
  source_.answer = {.kind = ConfigKind::kDocument, .envelope = signer_.Envelope(7), .etag = {}};
  PollAt(0);
  fetcher_.FetchSoon();
  PollAt(59'000);
  EXPECT_EQ(fetches(), 1u);
  PollAt(60'000);
  EXPECT_EQ(fetches(), 2u);
  PollAt(200'000);
  EXPECT_EQ(fetches(), 2u);
}

}  // namespace
}  // namespace lagwatch::report
