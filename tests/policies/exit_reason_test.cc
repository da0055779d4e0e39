// SPDX-License-Identifier: Apache-2.0
#include "policies/exit_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

TEST(ExitReason, EachPieceOfEvidenceAloneTellsItsReason) {
  EXPECT_EQ(ClassifyExit({}), ExitReason::kUnknown);
  EXPECT_EQ(ClassifyExit({.has_ended_cleanly = true}), ExitReason::kCleanExit);
  EXPECT_EQ(ClassifyExit({.has_replaced_itself = true}), ExitReason::kCleanExit);
  EXPECT_EQ(ClassifyExit({.crash_signal = 11}), ExitReason::kCrash);
  EXPECT_EQ(ClassifyExit({.was_asked_to_stop = true}), ExitReason::kStopped);
  EXPECT_EQ(ClassifyExit({.was_in_hang = true}), ExitReason::kKilledInHang);
  EXPECT_EQ(ClassifyExit({.has_rebooted = true}), ExitReason::kReboot);
  EXPECT_EQ(ClassifyExit({.has_changed = true}), ExitReason::kUpdate);
  EXPECT_EQ(ClassifyExit({.oom_kills_in_group = 1}), ExitReason::kOomKill);
  EXPECT_EQ(ClassifyExit({.oom_kills_on_machine = 1}), ExitReason::kOomKill);
}

// From the strongest on: each wins against all that come after it together.
TEST(ExitReason, TheStrongerEvidenceWins) {
  ExitEvidence evidence{.has_ended_cleanly = true,
                        .has_replaced_itself = true,
                        .crash_signal = 6,
                        .was_asked_to_stop = true,
                        .was_in_hang = false,
                        .has_rebooted = true,
                        .has_changed = true,
                        .oom_kills_in_group = 2,
                        .oom_kills_on_machine = 3};
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kCrash);
  evidence.crash_signal = 0;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kCleanExit);
  evidence.has_ended_cleanly = false;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kCleanExit);
  evidence.has_replaced_itself = false;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kStopped);
  evidence.was_in_hang = true;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kReboot);
  evidence.has_rebooted = false;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kOomKill);
  evidence.oom_kills_in_group = 0;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kKilledInHang);
  evidence.oom_kills_in_group = -1;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kKilledInHang);
  evidence.was_in_hang = false;
  evidence.was_asked_to_stop = false;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kOomKill);
  evidence.oom_kills_in_group = 0;  // another group's kill, then
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kUpdate);
  evidence.has_changed = false;
  EXPECT_EQ(ClassifyExit(evidence), ExitReason::kUnknown);
}

TEST(ExitReason, AFactThatTheProgramToldIsNotOverriddenByAHang) {
  EXPECT_EQ(ClassifyExit({.crash_signal = 11, .was_in_hang = true}), ExitReason::kCrash);
  EXPECT_EQ(ClassifyExit({.has_ended_cleanly = true, .was_in_hang = true}), ExitReason::kCleanExit);
}

TEST(ExitReason, ACrashInAHangAndAHangInACrashAreToldApart) {
  EXPECT_EQ(ClassifyExit({.crash_signal = 11, .was_in_hang = true, .was_in_hang_at_crash = true}),
            ExitReason::kCrashInHang);
  EXPECT_EQ(ClassifyExit({.crash_signal = 11, .was_in_hang = true, .has_hung_since_crash = true}),
            ExitReason::kHangInCrash);
  EXPECT_EQ(ClassifyExit({.was_in_hang = true, .was_in_hang_at_crash = true, .has_hung_since_crash = true}),
            ExitReason::kKilledInHang);
}

TEST(ExitReason, AFrozenProgramThatWasToldToStopWasKilledInItsHang) {
  EXPECT_EQ(ClassifyExit({.was_asked_to_stop = true, .was_in_hang = true}), ExitReason::kKilledInHang);
}

TEST(ExitReason, EveryReasonHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int32_t value = 0; value <= kLastExitReason; ++value)
    names.insert(ExitReasonName(static_cast<ExitReason>(value)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kLastExitReason) + 1);
  EXPECT_STREQ(ExitReasonName(static_cast<ExitReason>(99)), "unknown");
}

TEST(StartUp, IsWarmShortlyAfterTheSameBuildRan) {
  const LastRunTraces recent{.is_same_boot = true, .is_same_build = true, .since_last_seen_ms = 1000};
  EXPECT_TRUE(IsWarmStart(recent));
  LastRunTraces last_run = recent;
  last_run.since_last_seen_ms = 600'000;
  EXPECT_TRUE(IsWarmStart(last_run));
  last_run.since_last_seen_ms = 600'001;
  EXPECT_FALSE(IsWarmStart(last_run));
  last_run.since_last_seen_ms = -1;
  EXPECT_FALSE(IsWarmStart(last_run));
  last_run = recent;
  last_run.is_same_boot = false;
  EXPECT_FALSE(IsWarmStart(last_run));
  last_run = recent;
  last_run.is_same_build = false;
  EXPECT_FALSE(IsWarmStart(last_run));
}

TEST(ExitReason, OldNamesAreKnown) {
  EXPECT_EQ(CurrentExitReason("killed-in-lag"), ExitReasonName(ExitReason::kKilledInHang));
  EXPECT_EQ(CurrentExitReason("crash-in-lag"), ExitReasonName(ExitReason::kCrashInHang));
  EXPECT_EQ(CurrentExitReason("oom-kill"), "oom-kill");
  EXPECT_EQ(CurrentExitReason("of a newer version"), "of a newer version");
}

}  // namespace
}  // namespace lagwatch::policies
