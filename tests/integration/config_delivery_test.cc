// SPDX-License-Identifier: Apache-2.0
// From the operator's file to a program that obeys it, with the real collector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "tests/testing/configured_collector.h"
#include "tests/testing/process.h"
#include "tests/testing/spool_files.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ReportsIn;
using testing::WaitUntil;

class ConfigDeliveryTest : public ::testing::Test {
 protected:
  Options TestOptions() const {
    return {.app = "config-test",
            .app_version = "1 & 2",  // has to be escaped
            .endpoint = collector_.endpoint(),
            .key = testing::ConfiguredCollector::kKey,
            .user = "u-1",
            .spool_directory = spool_,
            .threshold_ms = 100,
            .detection = {.check_period_ms = 50, .sample_interval_ms = 10},
            .upload = {.user_rate_ppm = 1'000'000,
                       .config_key = config_key_.empty() ? collector_.config_key() : config_key_}};
  }
  // Empty when there is none.
  std::string StoredConfig() const {
    if (!fs::exists(spool_)) return "";
    for (const auto& entry : fs::directory_iterator(spool_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("config-") && !name.ends_with(".new")) {
        std::ostringstream content;
        content << std::ifstream(entry.path()).rdbuf();
        return content.str();
      }
    }
    return "";
  }
  // Runs the program until another config than `before` has arrived.
  void RunUntilConfigured(const std::string& before = "") const {
    auto monitor = Monitor::Start(TestOptions());
    EXPECT_TRUE(WaitUntil([&] { return StoredConfig() != before && !StoredConfig().empty(); }));
  }
  // Since this test began: the counts are the process's.
  uint64_t CountUploaded() const { return StatsNow().reports_uploaded - uploaded_before_; }
  static lw_stats StatsNow() {
    lw_stats stats;
    lw_stats_init(&stats);
    lw_get_stats(&stats);
    return stats;
  }
  // A dispatch that spins until `is_done`.
  static void FreezeUntil(const Monitor& monitor, const std::function<bool()>& is_done) {
    const Loop loop = monitor.WatchLoop("ui");
    {
      ScopedDispatch dispatch(loop, "freeze");
      testing::StopFlag stop{false};
      std::thread judge([&] {
        EXPECT_TRUE(WaitUntil(is_done));
        stop = true;
      });
      testing::Spin(stop);
      judge.join();
    }
    lw_unwatch_loop(loop.handle());
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  std::string config_key_;  // instead of the collector's
  testing::ConfiguredCollector collector_{directory_ / "data"};
  uint64_t uploaded_before_ = StatsNow().reports_uploaded;
};

TEST_F(ConfigDeliveryTest, ThresholdsHoldFromTheNextStartOn) {
  collector_.Configure(
      R"({"overrides": [{"app": "config-test", "app_version": "1 & 2", "threshold_ms": 123}]})");
  collector_.Start();
  RunUntilConfigured();
  collector_.Kill();  // so that the report stays here; what is known stays in force
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  FreezeUntil(monitor, [&] { return !ReportsIn(spool_).empty(); });
  EXPECT_EQ(ReportsIn(spool_)[0].threshold_ms, 123u);
}

TEST_F(ConfigDeliveryTest, NothingIsBelievedThatAnotherKeySigned) {
  collector_.Configure(R"({"is_killed": true})");
  collector_.Start();
  config_key_ = std::string(64, '1');
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on());
  // The upload's thread asks for the config first: once a report has arrived, it has been refused.
  FreezeUntil(monitor, [&] { return CountUploaded() > 0; });
  EXPECT_EQ(StoredConfig(), "");
}

TEST_F(ConfigDeliveryTest, NothingIsWrittenNorSentOnceItIsTurnedOffUntilItIsTurnedOn) {
  collector_.Configure(R"({"is_killed": true})");
  collector_.Start();
  {
    auto monitor = Monitor::Start(TestOptions());
    ASSERT_TRUE(monitor.is_on());
    ASSERT_TRUE(WaitUntil([&] { return !StoredConfig().empty(); }));
    // The file is there a moment before it holds: one report may still be written.
    auto freeze = [&] {
      const lw_stats before = monitor.stats();
      FreezeUntil(monitor, [&] {
        const lw_stats now = monitor.stats();
        return now.reports_dropped + now.reports_written > before.reports_dropped + before.reports_written;
      });
    };
    const uint64_t dropped_before = monitor.stats().reports_dropped;
    while (monitor.stats().reports_dropped == dropped_before && !HasFailure()) freeze();
    const size_t written = ReportsIn(spool_).size();
    freeze();
    EXPECT_EQ(ReportsIn(spool_).size(), written);
    EXPECT_EQ(CountUploaded(), 0u);
  }
  auto monitor = Monitor::Start(TestOptions());
  EXPECT_FALSE(monitor.is_on());
  EXPECT_THAT(monitor.why_off(), HasSubstr("the collector's config"));
  lw_stop(0);

  // It still asks, and hears of it.
  const std::string killed = StoredConfig();
  collector_.Configure("{}");
  RunUntilConfigured(killed);
  lw_stop(0);
  EXPECT_TRUE(Monitor::Start(TestOptions()).is_on());
}

TEST_F(ConfigDeliveryTest, AUserOnTheAllowlistByProofIsHeardOf) {
  const std::string proof = "0123456789abcdef0123456789abcdef";
  collector_.Configure(R"({"allowlist": ["sha256:)" + proof + R"("]})");
  collector_.Start();
  Options options = TestOptions();
  options.upload.user_rate_ppm = 0;
  for (const bool is_proved : {false, true}) {
    if (is_proved) options.upload.user_proof = proof;
    auto monitor = Monitor::Start(options);
    ASSERT_TRUE(monitor.is_on());
    ASSERT_TRUE(WaitUntil([&] { return !StoredConfig().empty(); }));
    FreezeUntil(monitor, [&] { return is_proved ? CountUploaded() > 0 : !ReportsIn(spool_).empty(); });
    monitor.Stop(1000);
    EXPECT_EQ(CountUploaded() > 0, is_proved);
  }
}

TEST_F(ConfigDeliveryTest, AKeyThatIsNoneSendsNothing) {
  collector_.Start();
  config_key_ = "secret";
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on());
  FreezeUntil(monitor, [&] { return !ReportsIn(spool_).empty(); });
  monitor.Stop(1000);
  EXPECT_EQ(CountUploaded(), 0u);
}

}  // namespace
}  // namespace lagwatch
