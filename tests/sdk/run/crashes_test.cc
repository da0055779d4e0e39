// SPDX-License-Identifier: Apache-2.0
// Programs that crash, in a hang and outside of one, and crash handlers that hang.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

void TellAndEnd(int number) {
  lw_note_crash(number);
  std::signal(number, SIG_DFL);  // the instruction is run once more, and ends the process
}

void TellAndHang(int number) {
  lw_note_crash(number);
  for (;;) pause();
}

class Crashes : public SdkTest {
 protected:
  // A program that runs into an invalid instruction in a dispatch, `is_late` when that is reported already.
  pid_t StartProgram(void (*handler)(int), bool is_late) const {
    const pid_t child = fork();
    if (child != 0) return child;
    auto monitor = Monitor::Start(TestOptions());
    auto loop = monitor.WatchLoop("ui");
    std::signal(SIGILL, handler);
    for (int i = 0; i < 3; ++i) {
      ScopedDispatch dispatch(loop, "short");
      usleep(5000);
    }
    lw_dispatch_begin(loop.handle(), "crashes");
    if (is_late && !testing::WaitUntil([&] { return monitor.stats().reports_written > 0; })) _exit(1);
    __builtin_trap();
  }
  static int SignalThatEnded(pid_t program) {
    int status = 0;
    waitpid(program, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  // As the next start reads it.
  std::optional<lw_last_exit> LastExit() const {
    const auto monitor = Monitor::Start(TestOptions());
    return monitor.last_exit();
  }
};

TEST_F(Crashes, ACrashOutsideAHangIsACrash) {
  ASSERT_EQ(SignalThatEnded(StartProgram(&TellAndEnd, /*is_late=*/false)), SIGILL);
  const auto last_exit = LastExit();
  ASSERT_TRUE(last_exit.has_value());
  EXPECT_EQ(last_exit->reason, LW_EXIT_CRASH);
  EXPECT_EQ(last_exit->signal, SIGILL);
}

TEST_F(Crashes, ACrashInAHangIsToldAsSuchAndEndsTheHang) {
  ASSERT_EQ(SignalThatEnded(StartProgram(&TellAndEnd, /*is_late=*/true)), SIGILL);
  ASSERT_FALSE(Reports().empty());
  EXPECT_TRUE(Ends().empty());
  const auto last_exit = LastExit();
  ASSERT_TRUE(last_exit.has_value());
  EXPECT_EQ(last_exit->reason, LW_EXIT_CRASH_IN_HANG);
  EXPECT_EQ(last_exit->signal, SIGILL);
  EXPECT_EQ(last_exit->was_in_hang, 1);
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_EQ(Ends()[0].report_id, Reports()[0].id);
}

TEST_F(Crashes, ACrashHandlerThatHangsIsToldAsSuch) {
  const pid_t program = StartProgram(&TellAndHang, /*is_late=*/false);
  EXPECT_TRUE(testing::WaitUntil([&] { return !Reports().empty(); }));
  usleep(300'000);  // most of the hang is after the crash
  kill(program, SIGKILL);
  EXPECT_EQ(SignalThatEnded(program), SIGKILL);
  const auto last_exit = LastExit();
  ASSERT_TRUE(last_exit.has_value());
  EXPECT_EQ(last_exit->reason, LW_EXIT_HANG_IN_CRASH);
  EXPECT_EQ(last_exit->signal, SIGILL);
  EXPECT_EQ(last_exit->was_in_hang, 1);
}

}  // namespace
}  // namespace lagwatch
