// SPDX-License-Identifier: Apache-2.0
// Captures in processes that leave little to capture with. Each test changes its process for good, so it runs
// in a child.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/process/quiet_thread.h"
#include "base/process/safe_memory.h"
#include "stack/own_stack.h"
#include "stack/signal_stacks.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

#define FAIL_CHILD_UNLESS(condition) \
  if (!(condition)) return __LINE__ % 250 + 1

// The exit code of a child that runs `body`: 0 if it holds, else the number of the line.
int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::unique_ptr<StackCapturer> CreateCapturer(CaptureOptions options = {}) {
  constexpr int64_t kPatienceNs = 10'000'000'000;  // a loaded machine may be late
  options.signal_timeout_ns = kPatienceNs;
  auto capturer = StackCapturer::Create(options, CreateTableUnwinder().value());
  if (!capturer.ok()) return nullptr;
  (*capturer)->RefreshModules();
  return std::move(capturer).value();
}

// As a server does after its start.
void DropPrivileges() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(251);
  prctl(PR_SET_DUMPABLE, 0);
}

bool IsFound(int tid, ThreadActivity wanted, const ThreadFiles* kept = nullptr) {
  return testing::WaitUntil([&] {
    BlockedThread blocked;
    return ReadThreadActivity(base::OwnThread(tid), kept, &blocked) == wanted;
  });
}

bool ShowsTheStall(const StackCapturer& capturer, const Stack& stack) {
  for (const Frame& frame : stack.view()) {
    if (frame.module == kNoModule || frame.function_offset == 0) continue;
    const uint64_t begin = capturer.modules().module(frame.module).load_bias + frame.function_offset;
    if (begin == reinterpret_cast<uint64_t>(&testing::StallOuter))
      return stack.completeness == Completeness::kComplete;
  }
  return false;
}

// Again and again, because a change of user ids interrupts all threads.
void Sleep(const StopFlag& stop) {
  std::atomic<bool> interrupted{false};
  while (!stop.load()) testing::SleepInOneCall(stop, 300, &interrupted);
}

TEST(DroppedPrivilegesTest, TellRunningFromSleeping) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's system calls");
  EXPECT_EQ(InChild([] {
              DropPrivileges();
              StalledThread waiting(testing::WaitForLock);
              StalledThread spinning(testing::Spin);
              FAIL_CHILD_UNLESS(IsFound(waiting.tid(), ThreadActivity::kHidden));
              FAIL_CHILD_UNLESS(IsFound(spinning.tid(), ThreadActivity::kRunning));
              FAIL_CHILD_UNLESS(IsFound(1 << 30, ThreadActivity::kGone));
              return 0;
            }),
            0);
}

TEST(DroppedPrivilegesTest, ShowARunningThreadByASignal) {
  LAGWATCH_SKIP_UNDER_EMULATION("signal frames are the emulator\'s");
  EXPECT_EQ(InChild([] {
              DropPrivileges();
              auto capturer = CreateCapturer();
              StalledThread spinning(testing::Spin);
              auto stack = std::make_unique<Stack>();
              capturer->Capture(spinning.tid(), stack.get());
              FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
              FAIL_CHILD_UNLESS(capturer->no_stack_reason() == NoStackReason::kNone);
              return 0;
            }),
            0);
}

TEST(DroppedPrivilegesTest, ShowAThreadInACallThatRestartsByASignal) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's wait channels");
  EXPECT_EQ(
      InChild([] {
        DropPrivileges();
        auto capturer = CreateCapturer();
        StalledThread waiting(testing::WaitForLock);
        FAIL_CHILD_UNLESS(IsFound(waiting.tid(), ThreadActivity::kHidden));
        if (!testing::WaitUntil([&] { return RestartsHiddenAfterSignal(base::OwnThread(waiting.tid())); }, 2))
          return 0;
        auto stack = std::make_unique<Stack>();
        capturer->Capture(waiting.tid(), stack.get());
        FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
        FAIL_CHILD_UNLESS(capturer->counters().sleepers_signalled.value() == 1);
        BlockedThread call;
        FAIL_CHILD_UNLESS(capturer->ReadInterruptedCall(&call) && call.RestartsAfterSignal());
        FAIL_CHILD_UNLESS(IsFound(waiting.tid(), ThreadActivity::kHidden));
        return 0;
      }),
      0);
}

TEST(DroppedPrivilegesTest, NeverInterruptASleep) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's system calls");
  EXPECT_EQ(InChild([] {
              DropPrivileges();
              auto capturer = CreateCapturer();
              std::atomic<bool> interrupted{false};
              StalledThread sleeping(
                  [&](const StopFlag& stop) { testing::SleepInOneCall(stop, 1000, &interrupted); });
              FAIL_CHILD_UNLESS(IsFound(sleeping.tid(), ThreadActivity::kHidden));
              auto stack = std::make_unique<Stack>();
              for (int i = 0; i < 10; ++i) capturer->Capture(sleeping.tid(), stack.get());
              FAIL_CHILD_UNLESS(capturer->no_stack_reason() == NoStackReason::kHidden);
              FAIL_CHILD_UNLESS(capturer->counters().signals_sent.value() == 0);
              FAIL_CHILD_UNLESS(!interrupted.load());
              return 0;
            }),
            0);
}

TEST(DroppedPrivilegesTest, LeaveKeptDescriptorsReadable) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's registers");
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "there is one table of descriptors";
#endif
  EXPECT_EQ(InChild([] {
              auto capturer = CreateCapturer();
              StalledThread sleeping(Sleep);
              std::atomic<int> step{0};
              int result = 0;
              std::thread watchdog([&] {
                const auto watch = [&] {
                  FAIL_CHILD_UNLESS(base::HasOwnFiles());
                  ThreadFiles& kept = capturer->thread_files();
                  kept.Keep(base::OwnThread(sleeping.tid()));
                  FAIL_CHILD_UNLESS(kept.DescriptorOf(sleeping.tid(), ThreadFile::kActivity) == -1);
                  kept.Allow();
                  kept.Keep(base::OwnThread(sleeping.tid()));
                  FAIL_CHILD_UNLESS(kept.DescriptorOf(sleeping.tid(), ThreadFile::kActivity) >= 0);
                  step = 1;
                  while (step.load() != 2) std::this_thread::yield();
                  FAIL_CHILD_UNLESS(IsFound(sleeping.tid(), ThreadActivity::kBlocked, &kept));
                  auto stack = std::make_unique<Stack>();
                  capturer->Capture(sleeping.tid(), stack.get());
                  FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
                  FAIL_CHILD_UNLESS(capturer->counters().signals_sent.value() == 0);
                  kept.Release(sleeping.tid());
                  FAIL_CHILD_UNLESS(kept.DescriptorOf(sleeping.tid(), ThreadFile::kActivity) == -1);
                  FAIL_CHILD_UNLESS(IsFound(sleeping.tid(), ThreadActivity::kHidden, &kept));
                  return 0;
                };
                if (!base::RunWithOwnFiles([&] { result = watch(); })) result = 99;
                step = 3;
              });
              while (step.load() == 0) std::this_thread::yield();
              if (step.load() == 1) DropPrivileges();
              if (step.load() == 1) step = 2;
              watchdog.join();
              return result;
            }),
            0);
}

void DoNothing(int) {}

TEST(AllSignalsHandledTest, LeavesStacksOfSleepingThreads) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's registers");
  EXPECT_EQ(InChild([] {
              for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) signal(number, DoNothing);
              auto capturer = CreateCapturer();
              FAIL_CHILD_UNLESS(capturer != nullptr);
              FAIL_CHILD_UNLESS(capturer->signal_number() == 0 && capturer->KeepSignal() == 0);
              FAIL_CHILD_UNLESS(capturer->counters().handler_lost.value() == 0);
              auto stack = std::make_unique<Stack>();
              StalledThread waiting(testing::WaitForLock);
              FAIL_CHILD_UNLESS(IsFound(waiting.tid(), ThreadActivity::kBlocked));
              capturer->Capture(waiting.tid(), stack.get());
              FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
              StalledThread spinning(testing::Spin);
              capturer->Capture(spinning.tid(), stack.get());
              FAIL_CHILD_UNLESS(capturer->no_stack_reason() == NoStackReason::kNoSignal);
              FAIL_CHILD_UNLESS(capturer->counters().signals_sent.value() == 0);
              signal(SIGRTMAX - 2, SIG_DFL);  // the program gives one up
              FAIL_CHILD_UNLESS(capturer->KeepSignal() == SIGRTMAX - 2);
              capturer->Capture(spinning.tid(), stack.get());
              FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
              return 0;
            }),
            0);
}

TEST(SignalBlockedTest, IsToldAsTheReason) {
  EXPECT_EQ(InChild([] {
              auto capturer = CreateCapturer();
              StalledThread spinning([](const StopFlag& stop) {
                sigset_t all;
                sigfillset(&all);
                pthread_sigmask(SIG_BLOCK, &all, nullptr);
                testing::Spin(stop);
              });
              auto stack = std::make_unique<Stack>();
              FAIL_CHILD_UNLESS(testing::WaitUntil([&] {
                capturer->Capture(spinning.tid(), stack.get());
                return capturer->no_stack_reason() == NoStackReason::kSignalBlocked;
              }));
              return 0;
            }),
            0);
}

// State that the main thread leaves to the others.
struct AfterMain {
  std::atomic<pid_t> tid{0};
  StackCapturer* capturer;
};

int LookAfterMain(AfterMain* after) {
  const pid_t main_tid = getpid();
  FAIL_CHILD_UNLESS(IsFound(main_tid, ThreadActivity::kGone));
  uint64_t value = 42;
  uint64_t copy = 0;
  FAIL_CHILD_UNLESS(base::ReadOwnValue(reinterpret_cast<uint64_t>(&value), &copy) && copy == value);
  ModuleMap modules;
  FAIL_CHILD_UNLESS(modules.Refresh() && modules.module_count() != 0);
  after->capturer->RefreshModules();
  auto stack = std::make_unique<Stack>();
  {
    StalledThread spinning(testing::Spin);  // newer than the map: the handler asks the kernel
    after->capturer->Capture(spinning.tid(), stack.get());
    FAIL_CHILD_UNLESS(ShowsTheStall(*after->capturer, *stack));
  }
  StalledThread waiting(testing::WaitForLock);
  FAIL_CHILD_UNLESS(IsFound(waiting.tid(), ThreadActivity::kBlocked));
  after->capturer->RefreshModules();
  after->capturer->Capture(waiting.tid(), stack.get());
  FAIL_CHILD_UNLESS(ShowsTheStall(*after->capturer, *stack));
  after->capturer->Capture(main_tid, stack.get());
  FAIL_CHILD_UNLESS(after->capturer->no_stack_reason() == NoStackReason::kGone);
  return 0;
}

TEST(EndedMainThreadTest, LeavesTheOthersToBeCaptured) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's registers");
  EXPECT_EQ(InChild([] {
              static AfterMain after;
              after.capturer = CreateCapturer().release();
              std::thread([] { _exit(LookAfterMain(&after)); }).detach();
              syscall(SYS_exit, 0);  // pthread_exit() would unwind the test
              return 1;
            }),
            0);
}

// An alternate stack with nothing below it.
class AlternateStack {
 public:
  explicit AlternateStack(size_t size_bytes) : size_bytes_(size_bytes) {
    void* mapped = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(mapped, kGuardBytes, PROT_NONE);
    bytes_ = static_cast<char*>(mapped) + kGuardBytes;
  }
  ~AlternateStack() { munmap(bytes_ - kGuardBytes, kMappedBytes); }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

  int Install() const {
    const stack_t stack{.ss_sp = bytes_, .ss_flags = 0, .ss_size = size_bytes_};
    return SignalStacks::Set(&stack, nullptr, &sigaltstack);
  }
  static int Disable() {
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    return SignalStacks::Set(&none, nullptr, &sigaltstack);
  }

 private:
  static constexpr size_t kGuardBytes = 1 << 16;
  static constexpr size_t kMappedBytes = 1 << 18;
  size_t size_bytes_;
  char* bytes_;
};

TEST(SignalStacksTest, NoSignalGoesToAThreadWithASmallOne) {
  LAGWATCH_SKIP_UNDER_EMULATION("signal frames are the emulator\'s");
  EXPECT_EQ(
      InChild([] {
        auto capturer = CreateCapturer();
        AlternateStack small(SignalStacks::NeededBytes() - 512);
        StalledThread spinning([&](const StopFlag& stop) {
          small.Install();
          testing::Spin(stop);
          AlternateStack::Disable();
        });
        FAIL_CHILD_UNLESS(testing::WaitUntil([&] { return SignalStacks::MustNotSignal(spinning.tid()); }));
        auto stack = std::make_unique<Stack>();
        capturer->Capture(spinning.tid(), stack.get());
        FAIL_CHILD_UNLESS(capturer->no_stack_reason() == NoStackReason::kSmallSignalStack);
        FAIL_CHILD_UNLESS(capturer->counters().signals_sent.value() == 0);
        StalledThread other(testing::Spin);
        capturer->Capture(other.tid(), stack.get());
        FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
        return 0;
      }),
      0);
}

TEST(SignalStacksTest, WhatIsNeededIsEnough) {
  LAGWATCH_SKIP_UNDER_EMULATION("signal frames are the emulator\'s");
  EXPECT_EQ(InChild([] {
              auto capturer = CreateCapturer();
              AlternateStack enough(SignalStacks::NeededBytes());
              StalledThread spinning([&](const StopFlag& stop) {
                enough.Install();
                testing::Spin(stop);
                AlternateStack::Disable();
              });
              auto stack = std::make_unique<Stack>();
              for (int i = 0; i < 50; ++i) capturer->Capture(spinning.tid(), stack.get());
              FAIL_CHILD_UNLESS(ShowsTheStall(*capturer, *stack));
              return 0;
            }),
            0);
}

// A signal that is on its way when the stack becomes small would end the process.
TEST(SignalStacksTest, NoSignalIsUnderWayWhenAStackBecomesSmall) {
  LAGWATCH_SKIP_UNDER_EMULATION("signal frames are the emulator\'s");
  EXPECT_EQ(InChild([] {
              auto capturer = CreateCapturer({.signal_timeout_ns = 1'000'000});
              AlternateStack small(2048);
              StalledThread changing([&](const StopFlag& stop) {
                while (!stop.load()) {
                  small.Install();
                  AlternateStack::Disable();
                  for (int i = 0; i < 100'000 && !stop.load(); ++i) {
                  }
                }
              });
              auto stack = std::make_unique<Stack>();
              for (int i = 0; i < 3000; ++i) capturer->Capture(changing.tid(), stack.get(), 0);
              FAIL_CHILD_UNLESS(capturer->counters().signals_sent.value() != 0);
              return 0;
            }),
            0);
}

TEST(SignalStacksTest, AThreadWithASmallOneDeletesItsTimer) {
  EXPECT_EQ(InChild([] {
              timer_t timer;
              sigevent event{};
              event.sigev_notify = SIGEV_NONE;
              FAIL_CHILD_UNLESS(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
              const int id = static_cast<int>(reinterpret_cast<intptr_t>(timer));
              FAIL_CHILD_UNLESS(SignalStacks::TryAddTimer(gettid(), id));
              itimerspec setting{};
              FAIL_CHILD_UNLESS(timer_gettime(timer, &setting) == 0);
              AlternateStack small(2048);
              FAIL_CHILD_UNLESS(small.Install() == 0);
              FAIL_CHILD_UNLESS(timer_gettime(timer, &setting) != 0);
              FAIL_CHILD_UNLESS(!SignalStacks::RemoveTimer(gettid(), id));
              FAIL_CHILD_UNLESS(!SignalStacks::TryAddTimer(gettid(), id));
              AlternateStack::Disable();
              FAIL_CHILD_UNLESS(SignalStacks::TryAddTimer(gettid(), id));
              FAIL_CHILD_UNLESS(SignalStacks::RemoveTimer(gettid(), id));
              return 0;
            }),
            0);
}

TEST(SignalStacksTest, AreNotedAgainInAForkedChild) {
  EXPECT_EQ(InChild([] {
              AlternateStack small(2048);
              small.Install();
              FAIL_CHILD_UNLESS(SignalStacks::MustNotSignal(gettid()));
              return InChild([] {
                SignalStacks::ForgetInForkedChild();
                FAIL_CHILD_UNLESS(SignalStacks::MustNotSignal(gettid()));
                FAIL_CHILD_UNLESS(!SignalStacks::MustNotSignal(getppid()));
                return 0;
              });
            }),
            0);
}

// The rest of the alternate stack that a walk in a signal handler runs on.
struct WalkOnAlternateStack {
  static constexpr unsigned char kPaint = 0x5a;
  const OwnStackWalker* walker;
  size_t count = 0;
  size_t used_bytes = 0;
  size_t room_bytes = 0;
  std::vector<unsigned char> bytes;
};
WalkOnAlternateStack* g_walk = nullptr;

// It writes where nothing of a function's own is.
[[gnu::no_sanitize_address]] void WalkInHandler(int) {
  uint64_t program_counters[64];
  bool is_complete;
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - sizeof program_counters - 128;
  auto* begin = g_walk->bytes.data();
  const size_t room = frame - reinterpret_cast<uint64_t>(begin);
  for (size_t i = 0; i < room; ++i) begin[i] = WalkOnAlternateStack::kPaint;
  const CallRegisters here = CallRegisters::Here();
  g_walk->count = g_walk->walker->Walk(here, program_counters, 64, &is_complete);
  size_t untouched = 0;
  while (untouched < room && begin[untouched] == WalkOnAlternateStack::kPaint) ++untouched;
  g_walk->used_bytes = room - untouched;
  g_walk->room_bytes = room;
}

void WalkOn(size_t stack_bytes, const OwnStackWalker& walker, WalkOnAlternateStack* walk) {
  walk->walker = &walker;
  walk->bytes.resize(stack_bytes);
  g_walk = walk;
  const stack_t stack{.ss_sp = walk->bytes.data(), .ss_flags = 0, .ss_size = walk->bytes.size()};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = WalkInHandler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGURG, &action, nullptr);
  raise(SIGURG);
}

// The room that is left is what the walk gets: the kernel needs less for a signal than it says on processors
// that have registers which the program does not use.
void WalkWith(size_t room_bytes, const OwnStackWalker& walker, WalkOnAlternateStack* walk) {
  const size_t most_bytes = getauxval(AT_MINSIGSTKSZ) + room_bytes;
  WalkOn(most_bytes, walker, walk);
  WalkOn(most_bytes - (walk->room_bytes - room_bytes), walker, walk);
}

TEST(WalkInAHandler, TakesNoMoreOfASmallStackThanItHas) {
  LAGWATCH_SKIP_UNDER_EMULATION("signal frames are the emulator\'s");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers make frames larger";
#endif
  EXPECT_EQ(InChild([] {
              auto code = std::make_shared<CodeMap>(CreateTableUnwinder().value());
              auto walker = OwnStackWalker::Create(code).value();
              WalkOnAlternateStack large;
              for (int i = 0; i < 200 && large.count < 4;
                   ++i) {  // tables are compiled on request, by a thread
                WalkWith(64 << 10, *walker, &large);
                usleep(20'000);
              }
              WalkWith(64 << 10, *walker, &large);
              FAIL_CHILD_UNLESS(large.count >= 2);
              FAIL_CHILD_UNLESS(large.used_bytes > 256);
              FAIL_CHILD_UNLESS(large.used_bytes <= OwnStackWalker::kWalkBytes);
              WalkOnAlternateStack small;
              WalkWith(2048, *walker, &small);
              FAIL_CHILD_UNLESS(small.count == 1);
              FAIL_CHILD_UNLESS(small.used_bytes < 512);
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace lagwatch::stack
