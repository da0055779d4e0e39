// SPDX-License-Identifier: Apache-2.0
#include "base/process/sleeper.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/clock.h"

namespace lagwatch::base {
namespace {

// Longer than any test may last: a sleep that gets there was not woken.
constexpr int64_t kForEverNs = 3600 * kNsPerSecond;

int64_t NowNs() { return SystemClock().MonoNs(); }

TEST(Sleeper, SleepsUntilItsDeadlineAndNotLess) {
  Sleeper sleeper;
  for (int64_t sleep_ns : {kNsPerMs / 10, kNsPerMs, 20 * kNsPerMs}) {
    int64_t deadline_ns = NowNs() + sleep_ns;
    sleeper.SleepUntil(deadline_ns);
    EXPECT_GE(NowNs(), deadline_ns);
  }
}

TEST(Sleeper, UsesNoCpuWhileItSleeps) {
  Sleeper sleeper;
  constexpr int64_t kSleepNs = 100 * kNsPerMs;
  int64_t cpu_before_ns = ProcessCpuNs();
  sleeper.SleepUntil(NowNs() + kSleepNs);
  EXPECT_LT(ProcessCpuNs() - cpu_before_ns, kSleepNs / 4);
}

TEST(Sleeper, DoesNotSleepUntilATimeThatHasPassed) {
  Sleeper sleeper;
  for (int64_t past_ns : {NowNs(), int64_t{0}, int64_t{-1}, INT64_MIN}) {
    int64_t before_ns = NowNs();
    sleeper.SleepUntil(past_ns);
    EXPECT_LT(NowNs() - before_ns, kForEverNs);
  }
}

TEST(Sleeper, KeepsAWakeThatCameBeforeTheSleepButOnlyForOneSleep) {
  Sleeper sleeper;
  sleeper.Wake();
  sleeper.Wake();
  sleeper.SleepUntil(NowNs() + kForEverNs);
  int64_t deadline_ns = NowNs() + 5 * kNsPerMs;
  sleeper.SleepUntil(deadline_ns);
  EXPECT_GE(NowNs(), deadline_ns);
}

TEST(Sleeper, LosesNoWakeOfAnotherThread) {
  constexpr int kRounds = 2'000;
  Sleeper ping;
  Sleeper pong;
  std::thread partner([&] {
    for (int round = 0; round < kRounds; ++round) {
      ping.SleepUntil(NowNs() + kForEverNs);
      pong.Wake();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    ping.Wake();
    pong.SleepUntil(NowNs() + kForEverNs);
  }
  partner.join();
}

// A page that two processes share.
class SharedWord {
 public:
  SharedWord() : word_(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedWord() { munmap(word_, 4096); }
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;

  uint32_t* get() const { return static_cast<uint32_t*>(word_); }
  void Change() const {
    std::atomic_ref(*get()).fetch_add(1);
    syscall(SYS_futex, get(), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }

 private:
  void* word_;
};

// Without futex_waitv(2), as under qemu, a sleeper looks at the shared word every five seconds.
bool SleepsOnTwoWords() {
#ifdef SYS_futex_waitv
  return syscall(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0) == 0 || errno != ENOSYS;
#else
  return false;
#endif
}

TEST(Sleeper, IsWokenByAnotherProcess) {
  SharedWord word;
  Sleeper sleeper;
  sleeper.SetSharedWord(word.get());
  const int rounds = SleepsOnTwoWords() ? 20 : 1;
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(round % 2 == 0 ? 0 : 5'000);
      word.Change();
      _exit(0);
    }
    sleeper.SleepUntil(round % 3 == 0 ? Sleeper::kForever : NowNs() + kForEverNs);
    waitpid(child, nullptr, 0);
  }
}

TEST(Sleeper, IsStillWokenByThreadsWhenItHasASharedWord) {
  SharedWord word;
  Sleeper sleeper;
  sleeper.SetSharedWord(word.get());
  std::thread waker([&] {
    usleep(5'000);
    sleeper.Wake();
  });
  sleeper.SleepUntil(NowNs() + kForEverNs);
  waker.join();
  int64_t deadline_ns = NowNs() + 5 * kNsPerMs;
  sleeper.SleepUntil(deadline_ns);
  EXPECT_GE(NowNs(), deadline_ns);
}

TEST(Sleeper, SleepsOnWhenTheSharedWordIsGone) {
  Sleeper sleeper;
  {
    SharedWord word;
    sleeper.SetSharedWord(word.get());
  }
  int64_t deadline_ns = NowNs() + 20 * kNsPerMs;
  sleeper.SleepUntil(deadline_ns);
  EXPECT_GE(NowNs(), deadline_ns);
}

}  // namespace
}  // namespace lagwatch::base
