// SPDX-License-Identifier: Apache-2.0
#include "sdk/config_keeper.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "sdk/report/writing_switch.h"
#include "tests/report/config_testing.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

using report::ConfigAnswer;
using report::testing::ConfigSigner;
using report::testing::kHourMs;

class SettableClock final : public base::Clock {
 public:
  int64_t MonoNs() const override { return mono_ms * base::kNsPerMs; }
  int64_t BootNs() const override { return MonoNs(); }
  int64_t WallMs() const override { return report::testing::kNowMs + mono_ms; }

  int64_t mono_ms = 0;
};

class ScriptedSource final : public report::ConfigSource {
 public:
  explicit ScriptedSource(const ConfigAnswer* answer) : answer_(answer) {}
  ConfigAnswer Fetch(const std::string&) override { return *answer_; }
  void Abort() override {}

 private:
  const ConfigAnswer* answer_;
};

class ConfigKeeperTest : public ::testing::Test {
 protected:
  ConfigKeeperTest() {
    options_.app = "editor";
    options_.user = "u-1";
    options_.spool_directory = directory_.path();
  }
  ~ConfigKeeperTest() override { process_writing.SetKilled(false); }

  ConfigKeeper NewKeeper() {
    return {
        std::make_unique<ScriptedSource>(&answer_),
        report::ConfigStore(&base::SystemEnv(), directory_.path(), signer_.public_key(), {"editor", "u-1"}),
        &clock_};
  }
  void Answer(std::string envelope) {
    answer_ = {.kind = ConfigAnswer::AnswerKind::kDocument, .envelope = std::move(envelope)};
  }
  // One that holds for years: what starts a monitor looks at the machine's own clock.
  static nlohmann::json ForYears(nlohmann::json document) {
    document["expires_wall_ms"] = INT64_MAX;
    return document;
  }

  testing::ScopedTempDirectory directory_;
  ConfigSigner signer_;
  SettableClock clock_;
  ConfigAnswer answer_;
  MonitorOptions options_;
};

TEST_F(ConfigKeeperTest, TurnsWritingOffAtOnceAndOnAgainWithANewerConfig) {
  ConfigKeeper keeper = NewKeeper();
  Answer(signer_.Envelope(1, {{"is_killed", true}}));
  keeper.Poll(true);
  EXPECT_TRUE(keeper.is_killed());
  EXPECT_FALSE(process_writing.is_on());
  Answer(signer_.Envelope(2));
  keeper.NoteVersion(2);
  clock_.mono_ms = 2 * 60'000;
  keeper.Poll(true);
  EXPECT_FALSE(keeper.is_killed());
  EXPECT_TRUE(process_writing.is_on());
  EXPECT_EQ(keeper.config()->version, 2u);
}

TEST_F(ConfigKeeperTest, FetchesNothingWhereNothingIsToBeTried) {
  ConfigKeeper keeper = NewKeeper();
  Answer(signer_.Envelope(1));
  keeper.Poll(false);
  EXPECT_FALSE(keeper.config());
  keeper.Poll(true);
  EXPECT_TRUE(keeper.config());
}

TEST_F(ConfigKeeperTest, IsTurnedOffNoLongerThanTheConfigHolds) {
  ConfigKeeper keeper = NewKeeper();
  Answer(signer_.Envelope(1, {{"is_killed", true}}));
  keeper.Poll(true);
  answer_ = {};
  clock_.mono_ms = kHourMs - 1;
  keeper.Poll(true);
  EXPECT_FALSE(process_writing.is_on());
  clock_.mono_ms = kHourMs;
  keeper.Poll(true);
  EXPECT_TRUE(process_writing.is_on());
  EXPECT_FALSE(keeper.config());
}

TEST_F(ConfigKeeperTest, WhatIsStoredChangesTheOptionsOfTheNextStart) {
  ConfigKeeper keeper = NewKeeper();
  Answer(signer_.Envelope(1, ForYears({{"threshold_ms", 123},
                                       {"anr_threshold_ms", 0},
                                       {"check_period_ms", 456},
                                       {"sample_interval_ms", 7}})));
  keeper.Poll(true);
  const int64_t idle_before_ns = options_.watch.idle_handler_threshold_ns;
  EXPECT_TRUE(ApplyStoredConfig(signer_.public_key(), &options_));
  EXPECT_EQ(options_.watch.threshold_ns, 123 * base::kNsPerMs);
  EXPECT_EQ(options_.watch.anr_threshold_ns, 0);
  EXPECT_EQ(options_.watch.check_period_ns, 456 * base::kNsPerMs);
  EXPECT_EQ(options_.watch.sample_interval_ns, 7 * base::kNsPerMs);
  EXPECT_EQ(options_.watch.idle_handler_threshold_ns, idle_before_ns);
}

TEST_F(ConfigKeeperTest, TracesAreWantedOfThisVersionOrOfAny) {
  ConfigKeeper keeper = NewKeeper();
  Answer(signer_.Envelope(1, ForYears({{"capture_requests",
                                        {{{"cluster", "77"}, {"interval_us", 5000}},
                                         {{"cluster", "88"}, {"app_version", "2.3.1"}},
                                         {{"cluster", "99"}, {"app_version", "2.3.0"}}}}})));
  keeper.Poll(true);
  options_.app_version = "2.3.1";
  EXPECT_TRUE(ApplyStoredConfig(signer_.public_key(), &options_));
  ASSERT_EQ(options_.trace.requests.size(), 2u);
  EXPECT_EQ(options_.trace.requests[0].cause, 0x77u);
  EXPECT_EQ(options_.trace.requests[0].interval_ns, 5 * base::kNsPerMs);
  EXPECT_EQ(options_.trace.requests[1].cause, 0x88u);
}

TEST_F(ConfigKeeperTest, WhatIsStoredIsBelievedByItsKeyAndItsProgramAlone) {
  ConfigKeeper keeper = NewKeeper();
  Answer(signer_.Envelope(1, ForYears({{"is_killed", true}})));
  keeper.Poll(true);
  EXPECT_FALSE(ApplyStoredConfig(signer_.public_key(), &options_));
  EXPECT_TRUE(ApplyStoredConfig(ConfigSigner().public_key(), &options_));
  options_.app = "viewer";
  EXPECT_TRUE(ApplyStoredConfig(signer_.public_key(), &options_));
}

}  // namespace
}  // namespace lagwatch::sdk
