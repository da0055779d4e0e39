// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "tests/testing/emulation.h"
#include "tests/testing/process.h"

namespace lagwatch::testing {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr char kLeaves[] = "sleep 600 & touch \"$TMPDIR/file\"; mkdir \"$TMPDIR/lagwatch-test-own\"";

TEST(Leftovers, AProcessAndAFileOfAProgramAreFoundOnce) {
  ScopedProgramMark mark;
  mark.Begin();
  EXPECT_EQ(Process({"sh", "-c", kLeaves}).Wait(), 0);
  EXPECT_THAT(mark.TakeLeftovers(0ms),
              ::testing::ElementsAre(::testing::HasSubstr("still runs"), "a temporary file is left: file"));
  EXPECT_THAT(mark.TakeLeftovers(10s), ::testing::IsEmpty());
}

// Its environment is this process's own, without the mark.
TEST(Leftovers, AForkedProcessIsFoundWhoseParentHasEnded) {
  LAGWATCH_SKIP_UNDER_EMULATION("a process's own auxv is the program's, other processes' are the emulator's");
  ScopedProgramMark mark;
  mark.Begin();
  const pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) pause();
    _exit(0);
  }
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(mark.TakeLeftovers(0ms), ::testing::ElementsAre(::testing::HasSubstr("still runs")));
  EXPECT_THAT(mark.TakeLeftovers(10s), ::testing::IsEmpty());
}

TEST(Leftovers, WhatWasThereBeforeIsNone) {
  ScopedProgramMark mark;
  EXPECT_EQ(Process({"sh", "-c", kLeaves}).Wait(), 0);
  mark.Begin();
  EXPECT_THAT(mark.TakeLeftovers(0ms), ::testing::IsEmpty());
  EXPECT_EQ(mark.processes().size(), 1u);
  for (const auto& [pid, command] : mark.processes()) kill(pid, SIGKILL);
}

TEST(Leftovers, AProcessThatEndsInTimeIsNone) {
  ScopedProgramMark mark;
  mark.Begin();
  EXPECT_EQ(Process({"sh", "-c", "sleep 0.3 &"}).Wait(), 0);
  EXPECT_THAT(mark.TakeLeftovers(10s), ::testing::IsEmpty());
}

}  // namespace
}  // namespace lagwatch::testing
