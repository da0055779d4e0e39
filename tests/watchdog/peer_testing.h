// SPDX-License-Identifier: Apache-2.0
// Waits for other processes: a thread of this process waits, a forked child is waited for.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {

using stack::LockKind;
using testing::WaitUntil;

// The place of a child that is busy with something else.
[[gnu::noinline]] inline void BeBusyElsewhere() {
  for (;;) pause();
}

// The place of a child that computes.
[[gnu::noinline]] inline void ComputeThere() {
  for (;;) asm volatile("");
}

// The place of a child that waits by `call`.
[[gnu::noinline]] inline void WaitThere(const std::function<void()>& call) {
  call();
  for (;;) pause();
}

using Function = void (*)();

inline Function AddressOf(void (*function)(const std::function<void()>&)) {
  return reinterpret_cast<Function>(function);
}

class Child {
 public:
  // Runs `body` in a forked child, which is named.
  explicit Child(const std::function<void()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "answering");
    body();
    _exit(0);
  }
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void End() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

struct Pair {
  int first = -1;
  int second = -1;

  static Pair OfPipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    return {ends[0], ends[1]};
  }
  static Pair OfSockets() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {ends[0], ends[1]};
  }
};

inline void ReadByte(int fd) {
  char byte;
  static_cast<void>(read(fd, &byte, 1));
}

constexpr double kTimeoutS = 10;

// Whether the kernel lets this user sample other processes.
inline bool MaySample() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 3;
  return (file >> level && level <= 2) || geteuid() == 0;
}

class PeerChainTest : public ::testing::Test {
 protected:
  PeerChainTest() {
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    std::thread([&] { chain_.MeasureLayouts(); }).join();
    chain_.set_peer_budget_ns(base::kNsPerSecond);  // sanitizers are slow
  }
  void SetUp() override { LAGWATCH_SKIP_UNDER_EMULATION("where other threads sleep cannot be read"); }

  // Follows the wait of a thread that runs `wait`, until a chain of `count` waits is found; `release` ends
  // it.
  void Follow(size_t count, const std::function<void()>& wait, const std::function<void()>& release) {
    std::atomic<int32_t> tid{0};
    std::thread waiter([&] {
      tid = gettid();
      wait();
    });
    std::thread watchdog([&] {
      EXPECT_TRUE(WaitUntil(
          [&] {
            if (tid == 0) return false;
            capturer_->RefreshModules();
            chain_.Follow(tid, capturer_.get());
            const int64_t begin_ns = SearchClockNs();
            const bool is_found = chain_.FollowPeers(tid, capturer_.get(), hides_peers_);
            taken_ns_ = SearchClockNs() - begin_ns;
            return is_found && chain_.waits().size() == count && HasEnd();
          },
          kTimeoutS))
          << "waits: " << chain_.waits().size();
    });
    watchdog.join();
    waiter_tid_ = tid;
    RecordProperty("taken_us", static_cast<int>(taken_ns_ / 1000));
    owner_stacks_.clear();
    for (const Wait& one : chain_.waits()) owner_stacks_.push_back(FunctionsOf(one));
    release();
    waiter.join();
  }
  // The child is where it is to be.
  bool HasEnd() const {
    const Wait& last = chain_.waits().back();
    for (const Wait& wait : chain_.waits())
      if (wait.owner_state != expected_state_) return false;
    if (expected_end_ == nullptr) return true;
    for (const uint64_t function : FunctionsOf(last))
      if (function == reinterpret_cast<uint64_t>(expected_end_)) return true;
    return false;
  }

  static std::vector<uint64_t> FunctionsOf(const Wait& wait) {
    std::vector<uint64_t> functions;
    if (wait.owner_frames == nullptr || wait.owner_modules == nullptr) return functions;
    for (const stack::Frame& frame : wait.owner_frames->view()) {
      if (frame.module != stack::kNoModule)
        functions.push_back(wait.owner_modules->module(frame.module).load_bias + frame.function_offset);
    }
    return functions;
  }

  void ExpectWaitFor(size_t index, pid_t pid, LockKind kind, bool is_idle = false) {
    ASSERT_GT(chain_.waits().size(), index);
    const Wait& wait = chain_.waits()[index];
    EXPECT_EQ(wait.owner_pid, static_cast<uint32_t>(pid));
    EXPECT_EQ(wait.lock.owner_tid, pid);
    EXPECT_EQ(wait.lock.kind, kind);
    EXPECT_EQ(wait.is_owner_idle, is_idle);
    EXPECT_EQ(wait.owner_process, "answering");
    EXPECT_EQ(wait.owner_state, 'S');
  }
  // With a child that is busy elsewhere.
  void ExpectBusy(LockKind kind, const std::function<void()>& in_child, const std::function<void()>& wait,
                  const std::function<void()>& before = {}) {
    Child child([&] {
      in_child();
      BeBusyElsewhere();
    });
    if (before) before();
    expected_end_ = BeBusyElsewhere;
    Follow(1, wait, [&] { child.End(); });
    const pid_t pid = static_cast<pid_t>(chain_.waits()[0].owner_pid);
    ExpectWaitFor(0, pid, kind);
    EXPECT_EQ(chain_.outcome(), WaitOutcome::kNone);
  }

  std::unique_ptr<stack::StackCapturer> capturer_;
  WaitWalker chain_{WaitWalker::Reach::kPeers};
  Function expected_end_ = nullptr;
  char expected_state_ = 'S';
  int32_t waiter_tid_ = 0;
  bool hides_peers_ = false;
  int64_t taken_ns_ = 0;
  std::vector<std::vector<uint64_t>> owner_stacks_;
  testing::ScopedTempDirectory directory_;
};

}  // namespace lagwatch::watchdog
