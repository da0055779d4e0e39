// SPDX-License-Identifier: Apache-2.0
// The evidence of real stalls, and the verdicts on them. A busy machine may keep any thread from running, so
// no test here is about durations.
#include "watchdog/evidence/evidence.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <poll.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

using policies::Doing;
using policies::VerdictWord;
using testing::StalledThread;
using testing::StopFlag;

// Whether the thread is found doing that before long.
bool IsFound(const StalledThread& thread, Doing doing) {
  return testing::WaitUntil([&] {
    policies::ThreadLook look;
    return LookAtThread(base::OwnThread(thread.tid()), nullptr, &look) && look.doing == doing;
  });
}

// Two ends of something; a byte into the second ends a read of the first.
struct Ends {
  int reading;
  int writing;
  ~Ends() {
    close(reading);
    if (writing != reading) close(writing);
  }
  void Read() const {
    uint64_t value;
    if (read(reading, &value, sizeof value) < 0) ADD_FAILURE() << errno;
  }
  void EndRead() const {
    uint64_t value = 1;
    if (write(writing, &value, sizeof value) < 0) ADD_FAILURE() << errno;
  }
};

// Whether a thread that reads from `ends` is found doing that.
bool IsReaderFound(const Ends& ends, Doing doing) {
  StalledThread thread([&](const StopFlag&) { ends.Read(); });
  bool is_found = IsFound(thread, doing);
  ends.EndRead();
  return is_found;
}

class EvidenceTest : public ::testing::Test {
 protected:
  void SetUp() override { LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's system calls"); }
};

TEST_F(EvidenceTest, ASpinRuns) {
  StalledThread thread(testing::Spin);
  EXPECT_TRUE(IsFound(thread, Doing::kRunning));
  policies::ThreadLook look;
  ASSERT_TRUE(LookAtThread(base::OwnThread(thread.tid()), nullptr, &look));
  int64_t cpu_ns = look.use.cpu_ns;
  EXPECT_TRUE(testing::WaitUntil([&] {
    return LookAtThread(base::OwnThread(thread.tid()), nullptr, &look) &&
           look.use.cpu_ns > cpu_ns + base::kNsPerMs;
  }));
}

TEST_F(EvidenceTest, AThreadWithoutAProcessorIsQueued) {
  // Two of them on one processor: at any time, one at least is in the queue.
  auto pinned_spin = [](const StopFlag& stop) {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int processor = 0;
    while (!CPU_ISSET(processor, &allowed)) ++processor;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    testing::Spin(stop);
  };
  StalledThread first(pinned_spin);
  StalledThread second(pinned_spin);
  EXPECT_TRUE(IsFound(first, Doing::kQueued));
  EXPECT_TRUE(IsFound(second, Doing::kQueued));
}

TEST_F(EvidenceTest, AMutexIsALock) {
  StalledThread thread(testing::WaitForLock);
  EXPECT_TRUE(IsFound(thread, Doing::kLock));
}

TEST_F(EvidenceTest, NapsAndPollsOfNothingAreSleep) {
  StalledThread napping([](const StopFlag& stop) {
    while (!stop.load()) usleep(1000);
  });
  StalledThread polling([](const StopFlag& stop) {
    while (!stop.load()) poll(nullptr, 0, 1);
  });
  EXPECT_TRUE(IsFound(napping, Doing::kSleep));
  EXPECT_TRUE(IsFound(polling, Doing::kSleep));
}

TEST_F(EvidenceTest, APollOfAPipeIsPipe) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  Ends ends{fds[0], fds[1]};
  StalledThread thread([&](const StopFlag& stop) {
    pollfd waited{.fd = ends.reading, .events = POLLIN, .revents = 0};
    while (!stop.load()) poll(&waited, 1, 1);
  });
  EXPECT_TRUE(IsFound(thread, Doing::kPipe));
}

// Only a part of a long set is read: the rest may be awaited, too.
TEST_F(EvidenceTest, ALongPollOfAPipeIsNoWaitForThatPipe) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  Ends ends{fds[0], fds[1]};
  for (const size_t count : {size_t{64}, size_t{100}}) {
    StalledThread thread([&](const StopFlag& stop) {
      std::vector<pollfd> waited(count, pollfd{.fd = -1, .events = POLLIN, .revents = 0});
      waited[5].fd = ends.reading;
      while (!stop.load()) poll(waited.data(), waited.size(), 1);
    });
    EXPECT_TRUE(IsFound(thread, count == 64 ? Doing::kPipe : Doing::kNetwork)) << count;
  }
}

TEST_F(EvidenceTest, WhatIsReadTellsTheWait) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  EXPECT_TRUE(IsReaderFound({fds[0], fds[1]}, Doing::kPipe));
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  EXPECT_TRUE(IsReaderFound({fds[0], fds[1]}, Doing::kPipe));
  int event = eventfd(0, 0);
  EXPECT_TRUE(IsReaderFound({event, event}, Doing::kLock));  // another thread
  const int shown = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(shown >= 0 && grantpt(shown) == 0 && unlockpt(shown) == 0);
  const int used = open(ptsname(shown), O_RDWR | O_NOCTTY);
  EXPECT_TRUE(IsReaderFound({shown, used}, Doing::kPipe));

  testing::ScopedTempDirectory directory;
  std::string path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int named = open(path.c_str(), O_RDWR);
  EXPECT_TRUE(IsReaderFound({named, named}, Doing::kPipe));
}

TEST_F(EvidenceTest, ATerminalThatIsReadOrFullIsTerminal) {
  int emulator;
  int terminal;
  ASSERT_EQ(openpty(&emulator, &terminal, nullptr, nullptr, nullptr), 0);
  {
    StalledThread reading([&](const StopFlag&) {
      char line[16];
      EXPECT_GT(read(terminal, line, sizeof line), 0) << errno;
    });
    EXPECT_TRUE(IsFound(reading, Doing::kTerminal));
    EXPECT_EQ(write(emulator, "\n", 1), 1);
  }
  {
    StalledThread writing([&](const StopFlag&) {
      while (write(terminal, "output", 6) > 0) {
      }
    });
    EXPECT_TRUE(IsFound(writing, Doing::kTerminal));
    close(emulator);
  }
  close(terminal);
}

TEST_F(EvidenceTest, AReadOfATimerIsSleep) {
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  itimerspec every_millisecond{.it_interval = {0, 1'000'000}, .it_value = {0, 1'000'000}};
  ASSERT_EQ(timerfd_settime(timer, 0, &every_millisecond, nullptr), 0);
  {
    Ends ends{timer, timer};
    StalledThread thread([&](const StopFlag& stop) {
      while (!stop.load()) ends.Read();
    });
    EXPECT_TRUE(IsFound(thread, Doing::kSleep));
  }
}

// As garbage collectors stop threads.
TEST_F(EvidenceTest, AThreadThatAHandlerStopsWaitsForAnother) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR2, &action, nullptr);
  action.sa_handler = [](int) {
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGUSR2);
    sigsuspend(&others);
  };
  sigaction(SIGUSR1, &action, nullptr);
  {
    StalledThread thread([](const StopFlag&) { raise(SIGUSR1); });
    EXPECT_TRUE(IsFound(thread, Doing::kLock));
    tgkill(getpid(), thread.tid(), SIGUSR2);
  }
  signal(SIGUSR1, SIG_DFL);
  signal(SIGUSR2, SIG_DFL);
}

TEST_F(EvidenceTest, AnFsyncIsDisk) {
  testing::ScopedTempDirectory directory;
  struct statfs file_system;
  ASSERT_EQ(statfs(directory.path().c_str(), &file_system), 0);
  if (file_system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "this directory is on no disk";
  StalledThread thread([&](const StopFlag& stop) { testing::SyncFile(stop, directory / "file"); });
  EXPECT_TRUE(IsFound(thread, Doing::kDisk));
}

TEST_F(EvidenceTest, ALookAfterAnotherIsAsGoodAsAFirstOne) {
  StalledThread napping([](const StopFlag& stop) {
    while (!stop.load()) usleep(1000);
  });
  StalledThread waiting(testing::WaitForLock);
  ASSERT_TRUE(IsFound(waiting, Doing::kLock));
  for (int tid : {napping.tid(), waiting.tid()}) {
    policies::ThreadLook before;
    ASSERT_TRUE(LookAtThread(base::OwnThread(tid), nullptr, &before));
    usleep(20'000);
    policies::ThreadLook first;
    policies::ThreadLook later;
    policies::ThreadLook last;
    ASSERT_TRUE(LookAtThread(base::OwnThread(tid), nullptr, &first));
    ASSERT_TRUE(LookAtThread(base::OwnThread(tid), &before, &later));
    ASSERT_TRUE(LookAtThread(base::OwnThread(tid), nullptr, &last));
    EXPECT_GE(later.use.voluntary_switches, first.use.voluntary_switches);
    EXPECT_LE(later.use.voluntary_switches, last.use.voluntary_switches);
    EXPECT_GE(later.run_queue_ns, first.run_queue_ns);
    EXPECT_LE(later.run_queue_ns, last.run_queue_ns);
  }
}

TEST_F(EvidenceTest, AThreadThatIsGoneCannotBeLookedAt) {
  int tid;
  {
    StalledThread thread(testing::Spin);
    tid = thread.tid();
  }
  policies::ThreadLook look;
  EXPECT_TRUE(testing::WaitUntil([&] { return !LookAtThread(base::OwnThread(tid), nullptr, &look); }));
}

TEST(WhatHiddenWaitsFor, IsToldByTheKernelsFunction) {
  EXPECT_EQ(WhatHiddenWaitsFor("futex_do_wait", 'S'), Doing::kLock);
  EXPECT_EQ(WhatHiddenWaitsFor("locks_lock_inode_wait", 'S'), Doing::kLock);
  EXPECT_EQ(WhatHiddenWaitsFor("hrtimer_nanosleep", 'S'), Doing::kSleep);
  EXPECT_EQ(WhatHiddenWaitsFor("do_sigtimedwait.isra.0", 'S'), Doing::kSleep);
  EXPECT_EQ(WhatHiddenWaitsFor("poll_schedule_timeout.constprop.0", 'S'), Doing::kNetwork);
  EXPECT_EQ(WhatHiddenWaitsFor("anon_pipe_read", 'S'), Doing::kPipe);
  EXPECT_EQ(WhatHiddenWaitsFor("request_wait_answer", 'D'), Doing::kDisk);
  EXPECT_EQ(WhatHiddenWaitsFor("folio_wait_bit_common", 'D'), Doing::kDisk);
  EXPECT_EQ(WhatHiddenWaitsFor("do_wait", 'S'), Doing::kProcess);
}

TEST(WhatItWaitsFor, IsFoundByTheCall) {
  auto waits_for = [](int64_t number, char state, uint64_t second_argument = 0) {
    return WhatItWaitsFor(base::OwnThread(gettid()), {number, {0, second_argument, 0, 0, 0, 0}, 0, 0}, state);
  };
  EXPECT_EQ(waits_for(-1, 'D'), Doing::kMemory);  // a page fault
  EXPECT_EQ(waits_for(SYS_munmap, 'D'), Doing::kMemory);
  EXPECT_EQ(waits_for(SYS_flock, 'S'), Doing::kLock);
  EXPECT_EQ(waits_for(SYS_fcntl, 'S', F_SETLKW), Doing::kLock);
  EXPECT_EQ(waits_for(SYS_fdatasync, 'D'), Doing::kDisk);
  EXPECT_EQ(waits_for(SYS_read, 'D'), Doing::kDisk);  // uninterruptible: no pipe, no socket
  EXPECT_EQ(waits_for(SYS_pread64, 'S'), Doing::kDisk);
  EXPECT_EQ(waits_for(SYS_recvmsg, 'S'), Doing::kNetwork);
  EXPECT_EQ(waits_for(SYS_msgrcv, 'S'), Doing::kPipe);
  EXPECT_EQ(waits_for(SYS_io_uring_enter, 'S'), Doing::kUnknown);  // of requests that are not known
  EXPECT_EQ(waits_for(SYS_rt_sigtimedwait, 'S'), Doing::kSleep);
  EXPECT_EQ(waits_for(SYS_wait4, 'S'), Doing::kProcess);
  EXPECT_EQ(waits_for(SYS_getpid, 'D'), Doing::kDisk);
  EXPECT_EQ(waits_for(SYS_getpid, 'S'), Doing::kUnknown);
}

// The whole way: a stall under a real watchdog.
class VerdictTest : public EvidenceTest {
 protected:
  // The verdict of the first report on a dispatch that is `stall`.
  policies::Verdict VerdictOn(
      const std::function<void(const StopFlag&)>& stall, const std::function<void()>& end_stall = [] {}) {
    WatchOptions options;
    options.threshold_ns = 200 * base::kNsPerMs;
    options.sample_interval_ns = 10 * base::kNsPerMs;
    auto registry = std::make_unique<LoopRegistry>();
    auto capturer = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    testing::RecordingSink sink;
    Watchdog watchdog(options, registry.get(), capturer.get(), &sink);
    EXPECT_TRUE(watchdog.Start().ok());
    {
      StalledThread thread([&](const StopFlag& stop) {
        WatchedLoop* loop = registry->Add("loop", gettid());
        loop->probe.Begin("stall");
        stall(stop);
        loop->probe.End();
        while (!stop.load()) usleep(1000);
        registry->Remove(loop);
      });
      EXPECT_TRUE(testing::WaitUntil([&] { return !sink.hangs().empty(); }));
      end_stall();
    }
    EXPECT_TRUE(watchdog.TryStop());
    return sink.hangs().empty() ? policies::Verdict{} : sink.hangs()[0].verdict;
  }
};

TEST_F(VerdictTest, AMutexIsALock) {
  policies::Verdict verdict = VerdictOn(testing::WaitForLock);
  EXPECT_EQ(verdict.word, VerdictWord::kLock);
  EXPECT_GT(verdict.shares.lock_ns, verdict.shares.wall_ns / 2);
}

TEST_F(VerdictTest, ASleepIsASleep) {
  policies::Verdict verdict = VerdictOn([](const StopFlag& stop) {
    while (!stop.load()) usleep(20'000);
  });
  EXPECT_EQ(verdict.word, VerdictWord::kSleep);
  EXPECT_GT(verdict.use.voluntary_switches, 0);
}

TEST_F(VerdictTest, AReadFromASocketPairIsPipe) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  Ends ends{fds[0], fds[1]};
  policies::Verdict verdict = VerdictOn([&](const StopFlag&) { ends.Read(); }, [&] { ends.EndRead(); });
  EXPECT_EQ(verdict.word, VerdictWord::kPipe);
  EXPECT_GT(verdict.shares.pipe_ns, verdict.shares.wall_ns / 2);
}

TEST_F(VerdictTest, ASpinRunsOrIsNotLetTo) {
  policies::Verdict verdict = VerdictOn(testing::Spin);
  const policies::TimeShares& shares = verdict.shares;
  int64_t cpu_ns = shares.user_ns + shares.kernel_ns;
  int64_t queue_ns = shares.run_queue_ns + shares.throttled_ns;
  EXPECT_GT(cpu_ns + queue_ns, shares.wall_ns / 2);
  if (queue_ns <= shares.wall_ns / 2) {
    EXPECT_EQ(verdict.word, VerdictWord::kCpu);
  } else {
    EXPECT_TRUE(verdict.word == VerdictWord::kStarved || verdict.word == VerdictWord::kThrottled);
  }
  EXPECT_GT(verdict.use.cpu_ns, 0);
}

}  // namespace
}  // namespace lagwatch::watchdog
