// SPDX-License-Identifier: Apache-2.0
#include "stack/stack_capturer.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <semaphore>
#include <vector>

#include "base/clock.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

// glibc's own: TSan's sigaction records its caller's handlers, and shows its own.
extern "C" int __sigaction(int signal_number, const struct sigaction* action,
                           struct sigaction* previous) noexcept;

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

class StackCapturerTest : public ::testing::Test {
 protected:
  StackCapturerTest() {
    constexpr int64_t kPatienceNs = 10'000'000'000;  // a loaded machine may be late
    auto capturer =
        StackCapturer::Create({.signal_number = testing::CaptureSignal(), .signal_timeout_ns = kPatienceNs},
                              CreateTableUnwinder().value());
    EXPECT_TRUE(capturer.ok()) << capturer.status().message();
    capturer_ = std::move(capturer).value();
  }

  void Capture(int tid) {
    capturer_->RefreshModules();
    capturer_->Capture(tid, stack_.get());
  }
  // The index of `function` in the stack, from the inside; -1 if it is not there.
  int IndexOf(const void* function) const {
    for (uint32_t i = 0; i < stack_->frame_count; ++i) {
      const Frame& frame = stack_->frames[i];
      if (frame.module == kNoModule || frame.function_offset == 0) continue;
      uint64_t start = capturer_->modules().module(frame.module).load_bias + frame.function_offset;
      if (start == reinterpret_cast<uint64_t>(function)) return static_cast<int>(i);
    }
    return -1;
  }
  void ExpectShowsTheStall(const void* stall) {
    int inner = IndexOf(reinterpret_cast<void*>(&testing::StallInner));
    EXPECT_GE(IndexOf(stall), 0);
    EXPECT_GT(inner, IndexOf(stall));
    EXPECT_EQ(IndexOf(reinterpret_cast<void*>(&testing::StallOuter)), inner + 1);
    EXPECT_EQ(stack_->completeness, Completeness::kComplete);
  }

  std::unique_ptr<StackCapturer> capturer_;
  std::unique_ptr<Stack> stack_{new Stack};
};

TEST_F(StackCapturerTest, ShowsARunningThreadByOneSignal) {
  StalledThread thread(testing::Spin);
  Capture(thread.tid());
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
  EXPECT_EQ(IndexOf(reinterpret_cast<void*>(&testing::Spin)), 0);
  EXPECT_EQ(capturer_->counters().signals_sent.value(), 1u);
  EXPECT_EQ(capturer_->counters().signal_timeouts.value(), 0u);
}

TEST_F(StackCapturerTest, WritesAnAnswerThatItDidNotWaitForWhenItIsCollected) {
  StalledThread thread(testing::Spin);
  NoStackReason reason = NoStackReason::kUnsteady;
  capturer_->RefreshModules();
  capturer_->BeginCapture(thread.tid(), base::ThreadCpuNs(thread.tid()), stack_.get(), &reason);
  EXPECT_EQ(stack_->frame_count, 0u);
  capturer_->Collect();
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
  EXPECT_EQ(reason, NoStackReason::kNone);
  EXPECT_EQ(capturer_->counters().captures.value(), 1u);
}

// On one processor with a thread that never sleeps, and behind it.
TEST_F(StackCapturerTest, AThreadWithoutAProcessorAnswersAtItsNextTurn) {
  const int processor = sched_getcpu();
  const auto on_that_one = [processor](const StopFlag& stop) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
    testing::Spin(stop);
  };
  StalledThread thread([&](const StopFlag& stop) {
    const sched_param none{};
    sched_setscheduler(0, SCHED_IDLE, &none);
    on_that_one(stop);
  });
  // It spins before the other one keeps it from its processor.
  ASSERT_TRUE(testing::WaitUntil([&] { return base::ThreadCpuNs(thread.tid()) > 5 * base::kNsPerMs; }));
  auto other = std::make_unique<StalledThread>(on_that_one);
  Stack later;
  NoStackReason reason = NoStackReason::kNone;
  NoStackReason later_reason = NoStackReason::kNone;
  capturer_->RefreshModules();
  capturer_->BeginCapture(thread.tid(), 0, &later, &reason);
  const bool is_early = capturer_->TryCollect(later);
  EXPECT_EQ(is_early, later.frame_count != 0);
  EXPECT_TRUE(capturer_->TryCollect(*stack_)) << "another one is outstanding";
  if (!is_early) capturer_->Redirect(later, stack_.get(), &later_reason);
  other.reset();
  EXPECT_TRUE(testing::WaitUntil([&] { return is_early || capturer_->TryCollect(*stack_); }));
  if (is_early) stack_->CopyFrom(later);
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
  EXPECT_EQ(later_reason, NoStackReason::kNone);
  EXPECT_EQ(capturer_->counters().signals_sent.value(), 1u);
}

TEST_F(StackCapturerTest, AnotherCaptureCollectsWhatIsOutstanding) {
  StalledThread thread(testing::Spin);
  StalledThread other(testing::Spin);
  Stack other_stack;
  NoStackReason reason = NoStackReason::kUnsteady;
  capturer_->RefreshModules();
  capturer_->BeginCapture(thread.tid(), base::ThreadCpuNs(thread.tid()), stack_.get(), &reason);
  capturer_->Capture(other.tid(), &other_stack);
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
  EXPECT_EQ(other_stack.FunctionHash(), stack_->FunctionHash());
  EXPECT_EQ(reason, NoStackReason::kNone);
}

TEST_F(StackCapturerTest, GivesAnAnswerUpThatDoesNotCome) {
  auto capturer = StackCapturer::Create({.signal_number = testing::CaptureSignal(), .signal_timeout_ns = 1},
                                        CreateTableUnwinder().value())
                      .value();
  const int tid = [&] {
    StalledThread thread(testing::Spin);
    return thread.tid();
  }();
  NoStackReason reason = NoStackReason::kNone;
  capturer->BeginCapture(tid, 0, stack_.get(), &reason);
  capturer->Collect();
  EXPECT_EQ(stack_->frame_count, 0u);
  EXPECT_NE(reason, NoStackReason::kNone);
}

TEST_F(StackCapturerTest, ShowsAThreadThatWaitsForALock) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's registers");
  StalledThread thread(testing::WaitForLock);
  Capture(thread.tid());
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::WaitForLock));
}

TEST_F(StackCapturerTest, ShowsAThreadThatFaultsPages) {
  StalledThread thread(testing::FaultPages);
  Capture(thread.tid());
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::FaultPages));
}

// It goes to sleep and wakes all the time, so a capture now and then finds no moment for it; most must. Under
// the thread sanitizer a look takes longer than most of its sleeps: one must succeed at last.
TEST_F(StackCapturerTest, ShowsAThreadInFsync) {
#if defined(__SANITIZE_THREAD__)
  constexpr int kLeast = 1;
  constexpr int kTries = 2000;
#else
  constexpr int kLeast = 10;
  constexpr int kTries = 20;
#endif
  testing::ScopedTempDirectory directory;
  StalledThread thread([&](const StopFlag& stop) { testing::SyncFile(stop, directory / "file"); });
  int shown = 0;
  for (int i = 0; i < kTries && shown < kLeast; ++i) {
    Capture(thread.tid());
    shown += stack_->frame_count >= 1;
  }
  EXPECT_EQ(shown, kLeast);
  EXPECT_EQ(capturer_->counters().signal_timeouts.value(), 0u);
}

// The program must not notice: no call that does not restart is ever interrupted.
TEST_F(StackCapturerTest, NeverInterruptsASleepOrAPoll) {
  constexpr int64_t kSleepMs = 3000;
  std::atomic<bool> interrupted{false};
  {
    StalledThread sleeping(
        [&](const StopFlag& stop) { testing::SleepInOneCall(stop, kSleepMs, &interrupted); });
    StalledThread polling(
        [&](const StopFlag& stop) { testing::PollInOneCall(stop, kSleepMs, &interrupted); });
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kSleepMs / 4);
    for (int i = 0; i < 100 && std::chrono::steady_clock::now() < end; ++i) {
      Capture(sleeping.tid());
      EXPECT_GE(stack_->frame_count, 1u);
      Capture(polling.tid());
      EXPECT_GE(stack_->frame_count, 1u);
    }
    EXPECT_EQ(capturer_->counters().signals_sent.value(), 0u);
  }
  EXPECT_FALSE(interrupted);
}

TEST_F(StackCapturerTest, LeavesAThreadAloneThatBlocksTheSignal) {
  StalledThread thread([&](const StopFlag& stop) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    testing::Spin(stop);
  });
  Capture(thread.tid());
  EXPECT_EQ(stack_->completeness, Completeness::kNone);
  EXPECT_EQ(stack_->frame_count, 0u);
  EXPECT_EQ(capturer_->counters().signals_sent.value(), 0u);
  EXPECT_EQ(capturer_->counters().signals_withheld.value(), 1u);
}

TEST_F(StackCapturerTest, SaysSoWhenTheThreadIsGone) {
  Capture(1 << 30);
  EXPECT_EQ(stack_->completeness, Completeness::kNone);
}

TEST_F(StackCapturerTest, SendsNothingOnceSomebodyElseTookTheSignal) {
  StalledThread thread(testing::Spin);
  signal(capturer_->signal_number(), SIG_DFL);
  Capture(thread.tid());
  EXPECT_EQ(stack_->completeness, Completeness::kNone);
  EXPECT_EQ(capturer_->counters().signals_withheld.value(), 1u);
}

std::atomic<int> foreign_signals{0};
struct sigaction action_under_foreign {};

void CountForeignSignal(int signal_number, siginfo_t* info, void* context) {
  ++foreign_signals;
  // As a library does that knows its manners.
  if ((action_under_foreign.sa_flags & SA_SIGINFO) != 0)
    action_under_foreign.sa_sigaction(signal_number, info, context);
}

void TakeSignal(int signal_number) {
  struct sigaction theirs {};
  theirs.sa_sigaction = CountForeignSignal;
  theirs.sa_flags = SA_SIGINFO;
  __sigaction(signal_number, &theirs, &action_under_foreign);
}

TEST_F(StackCapturerTest, TakesAnotherSignalOnceSomebodyElseTookItsOwn) {
  LAGWATCH_SKIP_UNDER_EMULATION("it cannot deliver the highest signals");
  StalledThread thread(testing::Spin);
  const int taken = capturer_->signal_number();
  foreign_signals = 0;
  TakeSignal(taken);
  capturer_->KeepSignal();
  EXPECT_NE(capturer_->signal_number(), taken);
  EXPECT_EQ(capturer_->counters().handler_lost.value(), 1u);
  EXPECT_EQ(capturer_->counters().handler_moved.value(), 1u);
  Capture(thread.tid());
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
  EXPECT_EQ(foreign_signals, 0);
  raise(taken);
  EXPECT_TRUE(testing::WaitUntil([] { return foreign_signals.load() == 1; }));
  struct sigaction now {};
  __sigaction(taken, nullptr, &now);
  EXPECT_EQ(now.sa_sigaction, &CountForeignSignal);
  // Theirs goes away again, and leaves ours behind.
  __sigaction(taken, &action_under_foreign, nullptr);
  capturer_->KeepSignal();
  EXPECT_EQ(capturer_->counters().handler_lost.value(), 1u);
  capturer_ = nullptr;
  __sigaction(taken, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(StackCapturerTest, TakesItsSignalUpAgainWhereSomebodyLeftItsHandlerBehind) {
  LAGWATCH_SKIP_UNDER_EMULATION("it cannot deliver the highest signals");
  StalledThread thread(testing::Spin);
  const int own = capturer_->signal_number();
  TakeSignal(own);
  capturer_ = nullptr;
  __sigaction(own, &action_under_foreign, nullptr);
  auto again = StackCapturer::Create({.signal_number = own}, CreateTableUnwinder().value());
  ASSERT_TRUE(again.ok()) << again.status().message();
  capturer_ = std::move(again).value();
  capturer_->RefreshModules();
  Capture(thread.tid());
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
  capturer_ = nullptr;
  struct sigaction now {};
  __sigaction(own, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(StackCapturerTest, KeepsItsSignalWhileNobodyTakesIt) {
  const int own = capturer_->signal_number();
  for (int i = 0; i < 3; ++i) capturer_->KeepSignal();
  EXPECT_EQ(capturer_->signal_number(), own);
  EXPECT_EQ(capturer_->counters().handler_lost.value(), 0u);
}

TEST_F(StackCapturerTest, CountsALossOnceWhenNoOtherSignalIsFree) {
  LAGWATCH_SKIP_UNDER_EMULATION("it cannot deliver the highest signals");
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) sigaction(number, &ignore, nullptr);
  capturer_->KeepSignal();
  capturer_->KeepSignal();
  EXPECT_EQ(capturer_->counters().handler_lost.value(), 1u);
  EXPECT_EQ(capturer_->counters().handler_moved.value(), 0u);
  StalledThread thread(testing::Spin);
  Capture(thread.tid());
  EXPECT_EQ(stack_->frame_count, 0u);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signal(number, SIG_DFL);
  capturer_->KeepSignal();
  Capture(thread.tid());
  ExpectShowsTheStall(reinterpret_cast<void*>(&testing::Spin));
}

TEST_F(StackCapturerTest, TellsHowLongItsHandlerKeptThreads) {
  StalledThread thread(testing::Spin);
  EXPECT_EQ(capturer_->counters().pause_ticks.value(), 0u);
  Capture(thread.tid());
  uint64_t one = capturer_->counters().pause_ticks.value();
  EXPECT_GT(one, 0u);
  Capture(thread.tid());
  EXPECT_GT(capturer_->counters().pause_ticks.value(), one);
}

TEST_F(StackCapturerTest, IsNotMisledByStraySignals) {
  const int own = capturer_->signal_number();
  capturer_ = nullptr;
  signal(own, SIG_IGN);  // or they end the process, as without a capturer
  capturer_ = StackCapturer::Create({.signal_number = own, .signal_timeout_ns = 10 * base::kNsPerSecond},
                                    CreateTableUnwinder().value())
                  .value();
  StalledThread thread(testing::Spin);
  Capture(thread.tid());
  uint32_t frames = stack_->frame_count;
  for (int value : {0, 1, 2, -1}) sigqueue(getpid(), capturer_->signal_number(), {.sival_int = value});
  kill(getpid(), capturer_->signal_number());
  Capture(thread.tid());
  EXPECT_EQ(stack_->frame_count, frames);
  capturer_ = nullptr;
  signal(own, SIG_DFL);
}

TEST_F(StackCapturerTest, KeepsErrno) {
  std::atomic<int> changes{0};
  StalledThread thread([&](const StopFlag& stop) {
    while (!stop.load()) {
      errno = 4711;
      for (int i = 0; i < 1000; ++i) asm volatile("");
      changes += errno != 4711;
    }
  });
  for (int i = 0; i < 200; ++i) Capture(thread.tid());
  EXPECT_EQ(changes, 0);
}

struct Oracle {
  std::vector<void*> return_addresses = std::vector<void*>(64);
  std::binary_semaphore is_ready{0};
  std::binary_semaphore may_go{0};
};

[[gnu::noinline]] void AskOracleThenWait(Oracle* oracle) {
  int size = backtrace(oracle->return_addresses.data(), static_cast<int>(oracle->return_addresses.size()));
  oracle->return_addresses.resize(static_cast<size_t>(size));
  oracle->is_ready.release();
  oracle->may_go.acquire();
  asm volatile("");
}

// The oracle is glibc's own unwinder, called by the thread itself.
TEST_F(StackCapturerTest, AgreesWithBacktraceOnAllCallers) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's registers");
  Oracle oracle;
  StalledThread thread([&](const StopFlag&) {
    AskOracleThenWait(&oracle);
    asm volatile("");
  });
  oracle.is_ready.acquire();
  EXPECT_TRUE(testing::WaitUntil([&] {
    BlockedThread blocked;
    return ReadThreadActivity(base::OwnThread(thread.tid()), &blocked) == ThreadActivity::kBlocked;
  }));
  Capture(thread.tid());
  oracle.may_go.release();

  int asking = IndexOf(reinterpret_cast<void*>(&AskOracleThenWait));
  ASSERT_GE(asking, 0);
  std::vector<uint64_t> ours;
  for (uint32_t i = static_cast<uint32_t>(asking) + 1; i < stack_->frame_count; ++i) {
    const Frame& frame = stack_->frames[i];
    ours.push_back(capturer_->modules().module(frame.module).load_bias + frame.offset + 1);
  }
  // Without the innermost, which are the asking function's own (and a sanitizer's, which wraps backtrace).
  ASSERT_GE(oracle.return_addresses.size(), ours.size());
  std::vector<uint64_t> theirs;
  for (auto address = oracle.return_addresses.end() - static_cast<std::ptrdiff_t>(ours.size());
       address != oracle.return_addresses.end(); ++address) {
    theirs.push_back(reinterpret_cast<uint64_t>(*address));
  }
  EXPECT_GE(ours.size(), 4u);
  EXPECT_LE(oracle.return_addresses.size(), ours.size() + 2);
  EXPECT_EQ(ours, theirs);
}

[[gnu::noinline]] void Recurse(int depth, const std::function<void()>& at_the_end) {
  if (depth == 0) {
    at_the_end();
  } else {
    Recurse(depth - 1, at_the_end);
  }
  asm volatile("");
}

TEST_F(StackCapturerTest, KeepsBothEndsOfADeepStack) {
  constexpr uint64_t kDepth = 10'000;
  StalledThread thread([&](const StopFlag& stop) { Recurse(kDepth, [&] { testing::Spin(stop); }); });
  Capture(thread.tid());
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
  EXPECT_EQ(stack_->frame_count, kMaxFrames);
  EXPECT_GT(stack_->gap_at, 0u);
  EXPECT_GT(stack_->gap_frame_count, kDepth - kMaxFrames);
  EXPECT_EQ(IndexOf(reinterpret_cast<void*>(&testing::Spin)), 0);
  EXPECT_GT(IndexOf(reinterpret_cast<void*>(&Recurse)), 0);
  EXPECT_GT(IndexOf(reinterpret_cast<void*>(&testing::StallOuter)), static_cast<int>(stack_->gap_at));
}

[[gnu::noinline]] void HoldALargeArray(const StopFlag& stop) {
  volatile char bytes[kMaxRawStackBytes + 4096];
  bytes[0] = 1;
  testing::Spin(stop);
  bytes[1] = bytes[0];
}

TEST_F(StackCapturerTest, SaysSoWhenAFrameIsLargerThanTheCopy) {
  StalledThread thread(HoldALargeArray);
  Capture(thread.tid());
  EXPECT_EQ(stack_->completeness, Completeness::kCut);
  EXPECT_EQ(IndexOf(reinterpret_cast<void*>(&HoldALargeArray)), 1);
}

TEST(StackCapturer, TakesAFreeSignalAndGivesItBack) {
  int taken = SIGRTMAX - 1;
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(taken, &ignore, nullptr);
  auto capturer = StackCapturer::Create({}, CreateTableUnwinder().value());
  ASSERT_TRUE(capturer.ok());
  int used = (*capturer)->signal_number();
  EXPECT_NE(used, taken);
  *capturer = nullptr;
  struct sigaction after {};
  sigaction(used, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);

  signal(taken, SIG_DFL);
  EXPECT_FALSE(StackCapturer::Create({.signal_number = SIGKILL}, CreateTableUnwinder().value()).ok());
  EXPECT_EQ(StackCapturer::Create({.signal_number = 4711}, CreateTableUnwinder().value()).status().code(),
            base::StatusCode::kInvalid);
}

}  // namespace
}  // namespace lagwatch::stack
