// SPDX-License-Identifier: Apache-2.0
// Capturers that share a signal and a code map, each on a thread of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "stack/code_map.h"
#include "stack/signal/signal_handler.h"
#include "stack/stack_capturer.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

class SeveralCapturersTest : public ::testing::Test {
 protected:
  SeveralCapturersTest() { code_->Refresh(); }

  base::Result<std::unique_ptr<StackCapturer>> TryCreate(int signal_number = testing::CaptureSignal()) {
    constexpr int64_t kPatienceNs = 10'000'000'000;  // a loaded machine may be late
    return StackCapturer::Create({.signal_number = signal_number, .signal_timeout_ns = kPatienceNs}, code_);
  }
  std::unique_ptr<StackCapturer> Create() {
    auto capturer = TryCreate();
    EXPECT_TRUE(capturer.ok()) << capturer.status().message();
    return std::move(capturer).value();
  }
  bool Shows(const Stack& stack, const void* function) const {
    for (const Frame& frame : stack.view()) {
      if (frame.module == kNoModule || frame.function_offset == 0) continue;
      const uint64_t bias = code_->modules().module(frame.module).load_bias;
      if (bias + frame.function_offset == reinterpret_cast<uint64_t>(function)) return true;
    }
    return false;
  }
  // Each of `count` threads captures `tid_of(index)` with a capturer of its own until `wanted` stacks were
  // whole. A thread that is seen to sleep, as in a page fault or an emulator's lock, gets no signal in that
  // capture, and nothing says how often that is; those that are whole must show StallOuter.
  template <typename TidOf>
  void CaptureFromThreads(int count, int wanted, TidOf tid_of) {
    std::vector<std::thread> threads;
    code_->Refresh();  // an emulator does not copy stacks that are not in the map
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        auto capturer = Create();
        auto stack = std::make_unique<Stack>();
        int whole_count = 0;
        for (int tries_left = 100 * wanted; tries_left > 0 && whole_count < wanted; --tries_left) {
          capturer->Capture(tid_of(i), stack.get());
          if (stack->completeness != Completeness::kComplete) continue;
          EXPECT_TRUE(Shows(*stack, reinterpret_cast<const void*>(&testing::StallOuter)));
          ++whole_count;
        }
        EXPECT_EQ(whole_count, wanted);
        EXPECT_EQ(capturer->counters().signal_timeouts.value(), 0u);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::shared_ptr<CodeMap> code_ = CodeMap::Create().value();
};

TEST_F(SeveralCapturersTest, ShareOneSignalUpToALimitAndTheLastGivesItBack) {
  std::vector<std::unique_ptr<StackCapturer>> capturers;
  for (uint32_t i = 0; i < CaptureSlots::kMaxSlots; ++i) {
    capturers.push_back(Create());
    EXPECT_EQ(capturers.back()->signal_number(), capturers.front()->signal_number());
  }
  const int number = capturers.front()->signal_number();
  EXPECT_EQ(TryCreate().status().code(), base::StatusCode::kUnavailable);
  capturers.erase(capturers.begin());
  EXPECT_EQ(TryCreate(SIGUSR2).status().code(), base::StatusCode::kUnavailable) << "others use another";
  capturers.push_back(Create());
  struct sigaction now {};
  while (!capturers.empty()) {
    sigaction(number, nullptr, &now);
    EXPECT_NE(now.sa_handler, SIG_DFL);
    capturers.pop_back();
  }
  sigaction(number, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(SeveralCapturersTest, AllGetTheirAnswersFromOneThread) {
  constexpr int kCapturers = 4;
  constexpr int kCaptures = 100;
  StalledThread thread(testing::Spin);
  CaptureFromThreads(kCapturers, kCaptures, [&](int) { return thread.tid(); });
}

TEST_F(SeveralCapturersTest, CaptureThreadsOfTheirOwnAtOnce) {
  constexpr int kCapturers = 4;
  constexpr int kCaptures = 100;
  std::vector<std::unique_ptr<StalledThread>> threads;
  for (int i = 0; i < kCapturers; ++i) threads.push_back(std::make_unique<StalledThread>(testing::Spin));
  CaptureFromThreads(kCapturers, kCaptures, [&](int i) { return threads[static_cast<size_t>(i)]->tid(); });
}

// Each waits for the other's answer, which the other's handler gives while it waits itself.
TEST_F(SeveralCapturersTest, CaptureEachOther) {
  constexpr int kCaptures = 100;
  std::atomic<int> tids[2] = {};
  std::atomic<int> running{2};
  std::atomic<int> shown{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      tids[i] = gettid();
      auto capturer = Create();
      auto stack = std::make_unique<Stack>();
      while (tids[1 - i].load() == 0) sched_yield();
      for (int done = 0; done < kCaptures; ++done) {
        capturer->Capture(tids[1 - i], stack.get());
        shown += stack->frame_count != 0;
      }
      --running;
      while (running.load() != 0) sched_yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(shown, kCaptures);
}

TEST_F(SeveralCapturersTest, CaptureWhileOthersRefreshAndTakeTheSignal) {
  LAGWATCH_SKIP_UNDER_EMULATION("it cannot deliver the highest signals");
  std::atomic<bool> stop{false};
  auto keeper = Create();
  std::thread other([&] {
    while (!stop.load()) {
      code_->Refresh();
      const int taken = keeper->signal_number();
      signal(taken, SIG_IGN);
      keeper->KeepSignal();
      EXPECT_NE(keeper->signal_number(), taken);
      usleep(5000);
      signal(taken, SIG_DFL);
    }
  });
  StalledThread thread(testing::Spin);
  // A capture under way when the signal is taken gets lost, and must not be waited for.
  auto capturer = StackCapturer::Create({}, code_).value();
  auto stack = std::make_unique<Stack>();
  int shown = 0;
  EXPECT_TRUE(testing::WaitUntil([&] {
    capturer->Capture(thread.tid(), stack.get());
    EXPECT_TRUE(stack->frame_count == 0 ||
                Shows(*stack, reinterpret_cast<const void*>(&testing::StallOuter)));
    return (shown += stack->frame_count != 0) >= 50;
  }));
  stop = true;
  other.join();
}

TEST_F(SeveralCapturersTest, AreAllGoneInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer forbids threads in a forked child";
#endif
  LAGWATCH_SKIP_UNDER_EMULATION("a forked child gets no threads");
  std::vector<std::unique_ptr<StackCapturer>> capturers;
  for (int i = 0; i < 3; ++i) capturers.push_back(Create());
  const int number = capturers[0]->signal_number();
  const pid_t child = fork();
  if (child == 0) {
    StackCapturer::AbandonAllInForkedChild();
    for (auto& capturer : capturers) static_cast<void>(capturer.release());
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_DFL) _exit(1);
    auto code = CodeMap::Create();
    auto again = StackCapturer::Create({.signal_number = number}, std::move(code).value());
    if (!again.ok()) _exit(2);
    StalledThread thread(testing::Spin);
    Stack stack;
    (*again)->RefreshModules();
    for (int i = 0; i < 1000; ++i) {
      (*again)->Capture(thread.tid(), &stack);
      if (stack.completeness == Completeness::kComplete) _exit(0);
    }
    _exit(3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(SeveralCapturersTest, ResolvesReturnAddressesAsFramesOfStacks) {
  StalledThread thread(testing::Spin);
  auto capturer = Create();
  code_->Refresh();
  auto stack = std::make_unique<Stack>();
  capturer->Capture(thread.tid(), stack.get());
  ASSERT_GE(stack->frame_count, 3u);
  for (const Frame& frame : stack->view().subspan(1)) {
    const uint64_t return_address = code_->CopyModule(frame.module).load_bias + frame.offset + 1;
    const Frame resolved = code_->Resolve(return_address);
    EXPECT_EQ(resolved.module, frame.module);
    EXPECT_EQ(resolved.offset, frame.offset);
    EXPECT_EQ(resolved.function_offset, frame.function_offset);
  }
  EXPECT_EQ(code_->Resolve(1).module, kNoModule);
  EXPECT_GE(code_->module_count(), 3u);
}

}  // namespace
}  // namespace lagwatch::stack
