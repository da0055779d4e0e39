// SPDX-License-Identifier: Apache-2.0
// The C library of the machine that runs the tests must be one whose locks are known.
#include "stack/threads/lock_layout.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/testing/emulation.h"

namespace lagwatch::stack {
namespace {

TEST(LockLayout, TheWordsOfAMutexAreFound) {
  auto layout = MeasureMutexLayout();
  ASSERT_TRUE(layout);
  EXPECT_NE(layout->owner, layout->kind);
  EXPECT_NE(layout->owner, layout->users);
  EXPECT_NE(layout->robust_mask, 0u);
  EXPECT_EQ(layout->robust_mask & (layout->type_mask | layout->other_mask), 0u);
}

TEST(LockLayout, TheWordsOfAReadWriteLockAreFound) {
  auto layout = MeasureRwLockLayout();
  ASSERT_TRUE(layout);
  EXPECT_NE(layout->phase_wait, layout->writers_wait);
  EXPECT_NE(layout->write_phase_mask, layout->write_locked_mask);
}

TEST(LockLayout, EveryThreadsWordIsAtTheSamePlace) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no get_robust_list(2)");
  auto mine = MeasureThreadLayout();
  ASSERT_TRUE(mine);
  std::thread([&] {
    auto others = MeasureThreadLayout();
    ASSERT_TRUE(others);
    EXPECT_EQ(others->robust_list_bytes, mine->robust_list_bytes);
    EXPECT_EQ(others->futex_offset, mine->futex_offset);
  }).join();
}

}  // namespace
}  // namespace lagwatch::stack
