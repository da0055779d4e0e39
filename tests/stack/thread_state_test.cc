// SPDX-License-Identifier: Apache-2.0
#include "stack/threads/thread_state.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>

#include "base/process/proc_file.h"
#include "base/process/process.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

TEST(ThreadActivity, TellsRunningFromBlocked) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's system calls");
  StalledThread spinning(testing::Spin);
  StalledThread waiting(testing::WaitForLock);
  BlockedThread blocked;
  EXPECT_EQ(ReadThreadActivity(base::OwnThread(spinning.tid()), &blocked), ThreadActivity::kRunning);
  EXPECT_TRUE(testing::WaitUntil([&] {
    return ReadThreadActivity(base::OwnThread(waiting.tid()), &blocked) == ThreadActivity::kBlocked &&
           blocked.syscall_number == SYS_futex;
  }));
  EXPECT_NE(blocked.stack_pointer, 0u);
  EXPECT_NE(blocked.program_counter, 0u);
  EXPECT_TRUE(blocked.RestartsAfterSignal());
  EXPECT_EQ(ReadThreadActivity(base::OwnThread(1 << 30), &blocked), ThreadActivity::kGone);
}

// A child that waits by `wait`, once it has been stopped and continued: the kernel reports restart_syscall.
template <typename Wait>
BlockedThread WaitThatGoesOn(Wait wait, bool* goes_on) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    wait();
    _exit(0);
  }
  BlockedThread blocked{};
  const base::Thread thread{base::Process::Other(child), child};
  const auto is_blocked = [&] { return ReadThreadActivity(thread, &blocked) == ThreadActivity::kBlocked; };
  *goes_on = false;
  for (int i = 0; i < 20 && !*goes_on; ++i) {  // it may have been stopped before its wait
    kill(child, SIGSTOP);
    EXPECT_TRUE(testing::WaitUntil([&] { return ReadThreadStateLetter(thread) == 'T'; }));
    kill(child, SIGCONT);
    EXPECT_TRUE(testing::WaitUntil([&] { return ReadThreadStateLetter(thread) == 'S' && is_blocked(); }));
    char text[16] = {};
    base::ReadSmallFile(base::TaskPath(thread, "syscall").c_str(), text, sizeof text - 1);
    *goes_on = std::string(text).starts_with(std::to_string(SYS_restart_syscall) + " ");
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return blocked;
}

TEST(ThreadActivity, NamesAWaitThatGoesOnAfterAnInterruption) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's system calls");
  static timespec long_time{.tv_sec = 60, .tv_nsec = 0};
  static int word = 0;
  const auto expect = [](const char* name, int64_t number, auto wait) {
    SCOPED_TRACE(name);
    bool goes_on = false;
    const BlockedThread blocked = WaitThatGoesOn(wait, &goes_on);
    EXPECT_TRUE(goes_on);
    EXPECT_EQ(blocked.syscall_number, number);
    return blocked;
  };
#ifdef SYS_poll
  static int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  static pollfd awaited{.fd = channel[0], .events = POLLIN, .revents = 0};
  const BlockedThread polled = expect("poll", SYS_poll, [] { poll(&awaited, 1, 60'000); });
  EXPECT_EQ(polled.arguments[0], reinterpret_cast<uint64_t>(&awaited));
#endif
  expect("clock_nanosleep", SYS_clock_nanosleep,
         [] { clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, nullptr); });
  // Without the number in the code before the call.
  expect("nanosleep", SYS_nanosleep, [] { syscall(SYS_nanosleep, &long_time, nullptr); });
  expect("futex", SYS_futex, [] { syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_time, nullptr, 0); });
}

TEST(BlockedThread, RestartsOnlyWhereTheManualSaysSo) {
  auto futex = [](uint64_t operation, uint64_t timeout) {
    return BlockedThread{SYS_futex, {0, operation, 0, timeout, 0, 0}, 0, 0}.RestartsAfterSignal();
  };
  EXPECT_TRUE(futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0));
  EXPECT_TRUE(futex(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0));
  EXPECT_FALSE(futex(FUTEX_WAIT, 0x1000));
  EXPECT_FALSE(futex(FUTEX_WAKE, 0));
  for (int64_t number :
       {SYS_ppoll, SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep, SYS_read, SYS_pselect6}) {
    EXPECT_FALSE((BlockedThread{number, {}, 0, 0}.RestartsAfterSignal())) << number;
  }
}

TEST(IsSignalBlocked, ReadsTheThreadsMask) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's signal mask");
  int signal_number = SIGRTMAX - 3;
  StalledThread open(testing::Spin);
  StalledThread shut([&](const StopFlag& stop) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, signal_number);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    testing::Spin(stop);
  });
  EXPECT_FALSE(IsSignalBlocked(base::OwnThread(open.tid()), signal_number));
  EXPECT_TRUE(IsSignalBlocked(base::OwnThread(shut.tid()), signal_number));
  EXPECT_FALSE(IsSignalBlocked(base::OwnThread(shut.tid()), signal_number - 1));
  EXPECT_TRUE(IsSignalBlocked(base::OwnThread(1 << 30), signal_number));
}

TEST(WaitChannel, IsTheKernelsFunctionThatAThreadSleepsIn) {
  StalledThread spinning(testing::Spin);
  StalledThread waiting(testing::WaitForLock);
  char channel[32];
  EXPECT_TRUE(testing::WaitUntil([&] {
    ReadWaitChannel(base::OwnThread(waiting.tid()), channel, sizeof channel);
    return std::string(channel).find("futex") != std::string::npos;
  })) << channel;
  char short_channel[4];
  ReadWaitChannel(base::OwnThread(waiting.tid()), short_channel, sizeof short_channel);
  EXPECT_STREQ(short_channel, "fut");
  ReadWaitChannel(base::OwnThread(spinning.tid()), channel, sizeof channel);
  EXPECT_STREQ(channel, "");
  ReadWaitChannel(base::OwnThread(1 << 30), channel, sizeof channel);
  EXPECT_STREQ(channel, "");
}

TEST(ThreadNames, SurviveParenthesesAndSpaces) {
  StalledThread odd([](const StopFlag& stop) {
    pthread_setname_np(pthread_self(), "a) S (b");
    testing::Spin(stop);
  });
  char name[16];
  ReadThreadName(base::OwnThread(odd.tid()), name, sizeof name);
  EXPECT_STREQ(name, "a) S (b");
  EXPECT_EQ(ReadThreadStateLetter(base::OwnThread(odd.tid())), 'R');
  ReadThreadName(base::OwnThread(1 << 30), name, sizeof name);
  EXPECT_STREQ(name, "");
  EXPECT_EQ(ReadThreadStateLetter(base::OwnThread(1 << 30)), '?');
}

}  // namespace
}  // namespace lagwatch::stack
