// SPDX-License-Identifier: Apache-2.0
// Peers that are idle, stopped or several, and chains and cycles of them.
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>
#include <utility>

#include "tests/watchdog/peer_testing.h"

namespace lagwatch::watchdog {
namespace {

#if defined(__SANITIZE_THREAD__)
#define LAGWATCH_SKIP_WITH_A_SANITIZERS_THREAD() \
  GTEST_SKIP() << "its thread could end the wait, and forked processes may start none"
#else
#define LAGWATCH_SKIP_WITH_A_SANITIZERS_THREAD() static_cast<void>(0)
#endif

TEST_F(PeerChainTest, SaysThatAPeerThatWaitsForTheRequestIsIdle) {
  for (bool has_epoll : {false, true}) {
    const Pair ends = Pair::OfSockets();
    Child child([&] {
      close(ends.first);
      WaitThere([&] {
        if (!has_epoll) return ReadByte(ends.second);
        const int epoll = epoll_create1(EPOLL_CLOEXEC);
        epoll_event event{.events = EPOLLIN, .data = {}};
        epoll_ctl(epoll, EPOLL_CTL_ADD, ends.second, &event);
        epoll_wait(epoll, &event, 1, -1);
      });
    });
    close(ends.second);
    expected_end_ = AddressOf(WaitThere);
    Follow(
        1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
    ExpectWaitFor(0, static_cast<pid_t>(chain_.waits()[0].owner_pid), LockKind::kUnixSocket,
                  /*is_idle=*/true);
    EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
    close(ends.first);
  }
}

TEST_F(PeerChainTest, SaysThatAPeerIsStopped) {
  const Pair ends = Pair::OfSockets();
  Child child([&] {
    close(ends.first);
    raise(SIGSTOP);
  });
  close(ends.second);
  expected_state_ = 'T';
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  EXPECT_EQ(chain_.waits()[0].owner_state, 'T');
  close(ends.first);
}

TEST_F(PeerChainTest, CallsNoPeerIdleThatIsStoppedInItsWait) {
  const Pair ends = Pair::OfSockets();
  Child child([&] {
    close(ends.first);
    WaitThere([&] { ReadByte(ends.second); });
  });
  close(ends.second);
  char state[64];
  snprintf(state, sizeof state, "/proc/%d/syscall", child.pid());
  ASSERT_TRUE(WaitUntil([&] {
    std::ifstream file(state);
    int number = -1;
    return file >> number && number == SYS_read;
  }));
  kill(child.pid(), SIGSTOP);
  expected_state_ = 'T';
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  EXPECT_FALSE(chain_.waits()[0].is_owner_idle);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  close(ends.first);
}

TEST_F(PeerChainTest, SaysHowNiceAPeerIs) {
  constexpr int kNicest = 19;
  const Pair ends = Pair::OfSockets();
  Child child([&] {
    close(ends.first);
    setpriority(PRIO_PROCESS, 0, kNicest);
    BeBusyElsewhere();
  });
  close(ends.second);
  ASSERT_TRUE(
      WaitUntil([&] { return getpriority(PRIO_PROCESS, static_cast<id_t>(child.pid())) == kNicest; }));
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  EXPECT_EQ(chain_.waits()[0].owner_nice, kNicest);
  close(ends.first);
}

TEST_F(PeerChainTest, SaysHowOldAPeerIs) {
  constexpr int64_t kTickNs = base::kNsPerSecond / 100;  // the start is known to a tick
  const Pair ends = Pair::OfSockets();
  const int64_t begin_ns = base::SystemClock().BootNs();
  Child child([&] {
    close(ends.first);
    BeBusyElsewhere();
  });
  close(ends.second);
  usleep(50'000);
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  EXPECT_GE(chain_.waits()[0].owner_age_ns, 50'000'000 - kTickNs);
  EXPECT_LE(chain_.waits()[0].owner_age_ns, base::SystemClock().BootNs() - begin_ns + kTickNs);
  close(ends.first);
}

TEST_F(PeerChainTest, SamplesAPeerThatComputes) {
  const Pair ends = Pair::OfSockets();
  Child child([&] {
    close(ends.first);
    ComputeThere();
  });
  const pid_t pid = child.pid();
  close(ends.second);
  expected_state_ = 'R';
  if (MaySample()) expected_end_ = ComputeThere;
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  EXPECT_EQ(chain_.waits()[0].lock.owner_tid, pid);
  EXPECT_EQ(owner_stacks_.at(0).empty(), !MaySample());
  close(ends.first);
}

TEST_F(PeerChainTest, TakesTheOnlyThreadThatRuns) {
  LAGWATCH_SKIP_WITH_A_SANITIZERS_THREAD();
  const Pair ends = Pair::OfSockets();
  const Pair named = Pair::OfPipe();
  Child child([&] {
    close(ends.first);
    std::thread busy([&] {
      prctl(PR_SET_NAME, "busy");
      EXPECT_EQ(write(named.second, "", 1), 1);
      ComputeThere();
    });
    BeBusyElsewhere();
  });
  const pid_t pid = child.pid();
  close(ends.second);
  ReadByte(named.first);
  expected_state_ = 'R';
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  EXPECT_EQ(chain_.waits()[0].owner_pid, static_cast<uint32_t>(pid));
  EXPECT_NE(chain_.waits()[0].lock.owner_tid, pid);
  EXPECT_EQ(chain_.waits()[0].owner_name, "busy");
  close(ends.first);
  close(named.first);
  close(named.second);
}

TEST_F(PeerChainTest, PrefersTheProcessThatUsesTheOtherEnd) {
  const Pair ends = Pair::OfSockets();
  Child bystander([&] { BeBusyElsewhere(); });
  Child server([&] {
    close(ends.first);
    WaitThere([&] { ReadByte(ends.second); });
  });
  expected_end_ = AddressOf(WaitThere);
  const pid_t server_pid = server.pid();
  close(ends.second);
  Follow(
      1, [&] { ReadByte(ends.first); },
      [&] {
        bystander.End();
        server.End();
      });
  EXPECT_EQ(chain_.waits()[0].owner_pid, static_cast<uint32_t>(server_pid));
  close(ends.first);
}

TEST_F(PeerChainTest, GoesOnThroughSeveralProcesses) {
  const Pair near = Pair::OfPipe();
  const Pair far = Pair::OfSockets();
  Child last([&] {
    close(near.first);
    close(near.second);
    close(far.first);
    BeBusyElsewhere();
  });
  Child middle([&] {
    close(near.first);
    close(far.second);
    WaitThere([&] { ReadByte(far.first); });
  });
  close(near.second);
  close(far.first);
  close(far.second);
  expected_end_ = BeBusyElsewhere;
  const pid_t middle_pid = middle.pid();
  const pid_t last_pid = last.pid();
  Follow(
      2, [&] { ReadByte(near.first); },
      [&] {
        middle.End();
        last.End();
      });
  ExpectWaitFor(0, middle_pid, LockKind::kPipe);
  ExpectWaitFor(1, last_pid, LockKind::kUnixSocket);
  EXPECT_EQ(chain_.waits()[1].pid, static_cast<uint32_t>(middle_pid));
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  close(near.first);
}

TEST_F(PeerChainTest, FollowsAMutexWithinThePeer) {
  LAGWATCH_SKIP_WITH_A_SANITIZERS_THREAD();
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const Pair ends = Pair::OfPipe();
  Child child([&] {
    close(ends.first);
    std::atomic<bool> is_locked{false};
    std::thread holder([&] {
      pthread_mutex_lock(&mutex);
      is_locked = true;
      BeBusyElsewhere();
    });
    while (!is_locked) std::this_thread::yield();
    WaitThere([&] { pthread_mutex_lock(&mutex); });
  });
  close(ends.second);
  expected_end_ = BeBusyElsewhere;
  const pid_t pid = child.pid();
  Follow(
      2, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  ExpectWaitFor(0, pid, LockKind::kPipe);
  const Wait& within = chain_.waits()[1];
  EXPECT_EQ(within.lock.kind, LockKind::kMutex);
  EXPECT_EQ(within.pid, static_cast<uint32_t>(pid));
  EXPECT_NE(within.lock.owner_tid, pid);
  close(ends.first);
}

// Each waits for an answer of the next one, the last for one of this process.
void MakeCycle(
    WaitWalker* chain, size_t size,
    const std::function<void(size_t, const std::function<void()>&, const std::function<void()>&)>& follow) {
  std::vector<Pair> pipes;
  for (size_t i = 0; i < size; ++i) pipes.push_back(Pair::OfPipe());
  std::vector<std::unique_ptr<Child>> children;
  // Process i reads pipe i, which process i + 1 writes; 0 is this one.
  for (size_t i = 1; i < size; ++i) {
    children.push_back(std::make_unique<Child>([&pipes, i] {
      for (size_t other = 0; other < pipes.size(); ++other) {
        if (other != i) close(pipes[other].first);
        if (other != i - 1) close(pipes[other].second);
      }
      WaitThere([&] { ReadByte(pipes[i].first); });
    }));
  }
  for (size_t i = 0; i < size; ++i) {
    if (i != size - 1) close(pipes[i].second);
    if (i != 0) close(pipes[i].first);
  }
  follow(
      size, [&] { ReadByte(pipes[0].first); }, [&] { children.clear(); });
  EXPECT_EQ(chain->outcome(), WaitOutcome::kDeadlock);
  EXPECT_EQ(chain->waits().back().owner_pid, 0u) << "it leads back to this process";
  close(pipes[0].first);
  close(pipes[size - 1].second);
}

TEST_F(PeerChainTest, RecognizesADeadlockOfTwoProcesses) {
  LAGWATCH_SKIP_WITH_A_SANITIZERS_THREAD();
  MakeCycle(&chain_, 2,
            [&](size_t count, const auto& wait, const auto& release) { Follow(count, wait, release); });
}

TEST_F(PeerChainTest, RecognizesADeadlockOfThreeProcesses) {
  LAGWATCH_SKIP_WITH_A_SANITIZERS_THREAD();
  MakeCycle(&chain_, 3,
            [&](size_t count, const auto& wait, const auto& release) { Follow(count, wait, release); });
}

TEST_F(PeerChainTest, CallsNoCycleADeadlockThatAnotherThreadCanEnd) {
  const Pair requests = Pair::OfPipe();
  const Pair answers = Pair::OfPipe();
  Child child([&] {
    close(requests.second);
    close(answers.first);
    WaitThere([&] { ReadByte(requests.first); });
  });
  close(requests.first);
  close(answers.second);
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) usleep(50'000);
  });
  Follow(
      2, [&] { ReadByte(answers.first); }, [&] { child.End(); });
  EXPECT_EQ(chain_.waits()[1].lock.owner_tid, waiter_tid_);
  EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  is_over = true;
  other.join();
  close(requests.second);
  close(answers.first);
}

TEST_F(PeerChainTest, EndsWhenItsTimeIsUsedUp) {
  const Pair ends = Pair::OfPipe();
  Child child([&] { BeBusyElsewhere(); });
  const pid_t tid = gettid();
  std::atomic<int> answer{-1};
  std::thread watchdog([&] {
    usleep(100'000);
    chain_.Follow(tid, capturer_.get());
    chain_.set_peer_budget_ns(0);
    answer = chain_.FollowPeers(tid, capturer_.get(), hides_peers_);
    static_cast<void>(write(ends.second, "", 1));
  });
  ReadByte(ends.first);
  watchdog.join();
  EXPECT_EQ(answer, 0);
  close(ends.first);
  close(ends.second);
}

TEST_F(PeerChainTest, HidesNamesAndStacksOnRequest) {
  const Pair ends = Pair::OfPipe();
  Child child([&] {
    close(ends.first);
    BeBusyElsewhere();
  });
  close(ends.second);
  hides_peers_ = true;
  const pid_t pid = child.pid();
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  const Wait& wait = chain_.waits()[0];
  EXPECT_EQ(wait.owner_pid, static_cast<uint32_t>(pid));
  EXPECT_TRUE(wait.owner_process.empty());
  EXPECT_TRUE(wait.owner_name.empty());
  EXPECT_EQ(wait.owner_frames, nullptr);
  close(ends.first);
}

TEST_F(PeerChainTest, LeavesNoDescriptorOpen) {
  const Pair ends = Pair::OfPipe();
  Child child([&] {
    close(ends.first);
    BeBusyElsewhere();
  });
  close(ends.second);
  const int before = dup(0);
  close(before);
  Follow(
      1, [&] { ReadByte(ends.first); }, [&] { child.End(); });
  const int after = dup(0);
  EXPECT_EQ(after, before);
  close(after);
  close(ends.first);
}

}  // namespace
}  // namespace lagwatch::watchdog
