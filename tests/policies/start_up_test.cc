// SPDX-License-Identifier: Apache-2.0
#include "policies/start_up.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

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

}  // namespace
}  // namespace lagwatch::policies
