// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <span>

#include "stack/signal/signal_handler.h"
#include "stack/stack_capturer.h"
#include "stack/thread_block_layout.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

constexpr size_t kPageBytes = 4096;
constexpr int64_t kPatienceNs = 10'000'000'000;  // a loaded machine may be late

std::unique_ptr<StackCapturer> CreateCapturer(int signal_number = testing::CaptureSignal()) {
  auto capturer = StackCapturer::Create({.signal_number = signal_number, .signal_timeout_ns = kPatienceNs},
                                        CreateTableUnwinder().value());
  EXPECT_TRUE(capturer.ok()) << capturer.status().message();
  return std::move(capturer).value();
}

class CaptureSignalTest : public ::testing::Test {
 protected:
  // The slot's copy, as the handler left it.
  const RawStack& Capture(int tid) {
    capturer_->Capture(tid, stack_.get());
    EXPECT_EQ(capturer_->counters().signal_timeouts.value(), 0u);
    EXPECT_GE(stack_->frame_count, 1u);
    return *capturer_->answer_for_test();
  }

  std::unique_ptr<StackCapturer> capturer_ = CreateCapturer();
  std::unique_ptr<Stack> stack_{new Stack};
};

TEST(CaptureSignal, EndsTheProcessWhenItIsNotOurs) {
  const int number = SIGRTMIN + 5;
  EXPECT_EXIT(
      {
        const std::unique_ptr<StackCapturer> capturer = CreateCapturer(number);
        raise(number);
        _exit(0);
      },
      ::testing::KilledBySignal(number), "");
}

TEST(ThreadBlockLayout, IsFoundInThisCLibrary) { EXPECT_TRUE(FindThreadBlockLayout().is_known()); }

TEST_F(CaptureSignalTest, CopiesAThreadsOwnStackUpToItsControlBlock) {
  std::atomic<uint64_t> block{0};
  StalledThread thread([&](const StopFlag& stop) {
    block = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
    testing::Spin(stop);
  });
  capturer_->RefreshModules();
  const RawStack& raw = Capture(thread.tid());
  EXPECT_EQ(raw.end, block);
  EXPECT_EQ(raw.address + raw.size_bytes, raw.end);
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
}

// Samplers look at the map now and then only.
TEST_F(CaptureSignalTest, CopiesAThreadThatIsNewerThanTheMap) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no process_vm_readv(2)");
  capturer_->RefreshModules();
  constexpr size_t kStackBytes = 300 * kPageBytes;  // so that none of those kept for the next thread is taken
  std::atomic<uint64_t> block{0};
  std::atomic<int> tid{0};
  StopFlag stop{false};
  std::function<void()> run = [&] {
    block = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
    volatile char deep[4 * kPageBytes] = {};
    tid = gettid();
    testing::Spin(stop);
    deep[1] = deep[0];
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  auto call = [](void* function) -> void* {
    (*static_cast<std::function<void()>*>(function))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &run), 0);
  pthread_attr_destroy(&attributes);
  ASSERT_TRUE(testing::WaitUntil([&] { return tid.load() != 0; }));
  const RawStack& raw = Capture(tid);
  EXPECT_EQ(raw.end, block);
  EXPECT_EQ(raw.address + raw.size_bytes, raw.end);
  stop = true;
  pthread_join(thread, nullptr);
}

[[gnu::noinline]] void Recurse(int depth, const std::function<void()>& at_the_end) {
  if (depth == 0) {
    at_the_end();
  } else {
    Recurse(depth - 1, at_the_end);
  }
  asm volatile("");
}

// Even where a frame is as small as it can be, which is 16 bytes.
TEST_F(CaptureSignalTest, CopiesTwentyThousandFramesWhole) {
  StalledThread thread([&](const StopFlag& stop) { Recurse(20'000, [&] { testing::Spin(stop); }); });
  capturer_->RefreshModules();
  const RawStack& raw = Capture(thread.tid());
  EXPECT_GT(raw.size_bytes, kUsualRawStackBytes);
  EXPECT_EQ(raw.address + raw.size_bytes, raw.end);
}

// A coroutine on a stack of its own, with memory right above it.
class Coroutine {
 public:
  static constexpr size_t kStackBytes = 64 * 1024;
  static constexpr size_t kAboveBytes = 16 * kPageBytes;

  Coroutine() {
    void* mapped =
        mmap(nullptr, kStackBytes + kAboveBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_ = static_cast<char*>(mapped);
  }
  ~Coroutine() { munmap(stack_, kStackBytes + kAboveBytes); }

  // As if it were unmapped, but so that no other thread's mapping comes to lie there.
  void CloseAbove() { mprotect(stack_ + kStackBytes, kAboveBytes, PROT_NONE); }
  uint64_t stack_end() const { return reinterpret_cast<uint64_t>(stack_ + kStackBytes); }

  void Run(const StopFlag& stop) {
    stop_ = &stop;
    getcontext(&inside_);
    inside_.uc_stack = {.ss_sp = stack_, .ss_flags = 0, .ss_size = kStackBytes};
    inside_.uc_link = &outside_;
    current_ = this;
    makecontext(
        &inside_, [] { testing::Spin(*current_->stop_); }, 0);
    swapcontext(&outside_, &inside_);
  }

 private:
  static inline Coroutine* current_ = nullptr;
  char* stack_;
  const StopFlag* stop_ = nullptr;
  ucontext_t inside_{};
  ucontext_t outside_{};
};

TEST_F(CaptureSignalTest, CopiesACoroutineWhoseSurroundingsAreGoneMeanwhile) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no process_vm_readv(2)");
  Coroutine coroutine;
  capturer_->RefreshModules();  // what is above is still there
  coroutine.CloseAbove();
  StalledThread thread([&](const StopFlag& stop) { coroutine.Run(stop); });
  const RawStack& raw = Capture(thread.tid());
  EXPECT_GT(raw.end, coroutine.stack_end()) << "the test is about a map that is out of date";
  EXPECT_EQ(raw.address + raw.size_bytes, coroutine.stack_end());
}

// The same on a thread whose own stack lies in the same mapping: the map alone would take all of it
// for one stack.
TEST_F(CaptureSignalTest, DoesNotTakeACoroutineBelowTheThreadsOwnStackForThatStack) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no process_vm_readv(2)");
  constexpr size_t kThreadStackBytes = 1 << 20;
  constexpr size_t kCoroutineBytes = 64 * 1024;
  constexpr size_t kAllBytes = kCoroutineBytes + kPageBytes + kThreadStackBytes;
  void* mapped = mmap(nullptr, kAllBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* memory = static_cast<char*>(mapped);
  static ucontext_t inside;
  static ucontext_t outside;
  static StopFlag stop;
  static std::atomic<int> tid;
  static char* coroutine_stack;
  stop = false;
  tid = 0;
  coroutine_stack = memory;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory + kCoroutineBytes + kPageBytes, kThreadStackBytes);
  pthread_t thread;
  auto run = [](void*) -> void* {
    getcontext(&inside);
    inside.uc_stack = {.ss_sp = coroutine_stack, .ss_flags = 0, .ss_size = kCoroutineBytes};
    inside.uc_link = &outside;
    makecontext(
        &inside,
        [] {
          tid = gettid();
          testing::Spin(stop);
        },
        0);
    swapcontext(&outside, &inside);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, nullptr), 0);
  ASSERT_TRUE(testing::WaitUntil([] { return tid.load() != 0; }));
  capturer_->RefreshModules();
  munmap(memory + kCoroutineBytes, kPageBytes);
  const RawStack& raw = Capture(tid);
  EXPECT_EQ(raw.address + raw.size_bytes, reinterpret_cast<uint64_t>(memory) + kCoroutineBytes);
  stop = true;
  pthread_join(thread, nullptr);
  munmap(memory, kCoroutineBytes);
  munmap(memory + kCoroutineBytes + kPageBytes, kThreadStackBytes);
  pthread_attr_destroy(&attributes);
}

// Memory for sigaltstack(2), painted, so that writes show; between inaccessible pages, so that no other
// mapping continues it.
class PaintedStack {
 public:
  static constexpr size_t kBytes = 128 * 1024;

  PaintedStack() {
    void* mapped = mmap(nullptr, kMappedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bytes_ = {static_cast<char*>(mapped) + kPageBytes, kBytes};
    mprotect(bytes_.data(), kBytes, PROT_READ | PROT_WRITE);
    std::fill(bytes_.begin(), bytes_.end(), kPaint);
  }
  ~PaintedStack() { munmap(bytes_.data() - kPageBytes, kMappedBytes); }
  PaintedStack(const PaintedStack&) = delete;
  PaintedStack& operator=(const PaintedStack&) = delete;

  void Install() {
    stack_t stack{.ss_sp = bytes_.data(), .ss_flags = 0, .ss_size = kBytes};
    sigaltstack(&stack, nullptr);
  }
  static void Uninstall() {
    stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  size_t UsedBytes() const {
    auto first = std::find_if(bytes_.begin(), bytes_.end(), [](char byte) { return byte != kPaint; });
    return static_cast<size_t>(bytes_.end() - first);
  }
  bool Contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(bytes_.data()) < kBytes;
  }

 private:
  static constexpr size_t kMappedBytes = kBytes + 2 * kPageBytes;
  static constexpr char kPaint = 0x5a;
  std::span<char> bytes_;
};

const StopFlag* g_stop = nullptr;
void SpinInHandler(int) { testing::Spin(*g_stop); }

TEST_F(CaptureSignalTest, ShowsAThreadThatRunsOnAnAlternateStack) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no process_vm_readv(2)");
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer blocks all signals while a handler runs";
#endif
  PaintedStack alternate;
  struct sigaction action {};
  action.sa_handler = SpinInHandler;
  action.sa_flags = SA_ONSTACK;
  struct sigaction before {};
  sigaction(SIGURG, &action, &before);
  {
    StalledThread thread([&](const StopFlag& stop) {
      g_stop = &stop;
      alternate.Install();
      pthread_kill(pthread_self(), SIGURG);
      PaintedStack::Uninstall();
    });
    capturer_->RefreshModules();
    const RawStack& raw = Capture(thread.tid());
    EXPECT_TRUE(alternate.Contains(raw.registers.stack_pointer()));
    EXPECT_GT(raw.size_bytes, kRedZoneBytes);
    EXPECT_LE(raw.size_bytes, kUsualRawStackBytes);
  }
  sigaction(SIGURG, &before, nullptr);
}

void DoNothing(int, siginfo_t*, void*) {}

// Against an empty handler, because the kernel's own frame depends on the processor.
TEST_F(CaptureSignalTest, TakesLittleOfTheInterruptedThreadsStack) {
  constexpr size_t kLimitBytes = 512;
  PaintedStack ours;
  PaintedStack empty;
  for (auto* painted : {&ours, &empty}) {
    StalledThread thread([&](const StopFlag& stop) {
      painted->Install();
      testing::Spin(stop);
      PaintedStack::Uninstall();
    });
    if (painted == &empty) {
      struct sigaction action {};
      action.sa_sigaction = DoNothing;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK;
      struct sigaction before {};
      sigaction(SIGURG, &action, &before);
      tgkill(getpid(), thread.tid(), SIGURG);
      EXPECT_TRUE(testing::WaitUntil([&] { return empty.UsedBytes() > 0; }));
      sigaction(SIGURG, &before, nullptr);
    } else {
      capturer_->RefreshModules();
      Capture(thread.tid());
    }
  }
  EXPECT_GT(ours.UsedBytes(), 0u);
  EXPECT_LE(ours.UsedBytes(), empty.UsedBytes() + kLimitBytes);
}

std::atomic<int> g_passed_on{0};
std::atomic<int> g_passed_value{0};
void CountSignal(int) { ++g_passed_on; }
void CountSignalWithInfo(int, siginfo_t* info, void* context) {
  g_passed_value = context != nullptr ? info->si_value.sival_int : -1;
  ++g_passed_on;
}

class PlainSignalTest : public ::testing::Test {
 protected:
  ~PlainSignalTest() override { signal(kSignal, SIG_DFL); }
  static constexpr int kSignal = SIGUSR2;
};
class ChainedSignalTest : public PlainSignalTest, public ::testing::WithParamInterface<int> {};

// The application's own signals reach its handler, the capturer's do not.
TEST_P(ChainedSignalTest, KeepsTheApplicationsHandler) {
  struct sigaction action {};
  action.sa_flags = GetParam();
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction = CountSignalWithInfo;
  } else {
    action.sa_handler = CountSignal;
  }
  sigaddset(&action.sa_mask, SIGUSR1);
  sigaction(kSignal, &action, nullptr);
  g_passed_on = 0;
  g_passed_value = 0;
  auto capturer = CreateCapturer(kSignal);
  EXPECT_EQ(capturer->signal_number(), kSignal);
  {
    StalledThread thread(testing::Spin);
    auto stack = std::make_unique<Stack>();
    capturer->RefreshModules();
    capturer->Capture(thread.tid(), stack.get());
    EXPECT_GE(stack->frame_count, 1u);
    EXPECT_EQ(g_passed_on, 0);
    sigqueue(getpid(), kSignal, {.sival_int = 4711});
    EXPECT_TRUE(testing::WaitUntil([] { return g_passed_on.load() == 1; }));
    EXPECT_EQ(g_passed_value, action.sa_flags & SA_SIGINFO ? 4711 : 0);
    kill(getpid(), kSignal);
    EXPECT_TRUE(testing::WaitUntil([] { return g_passed_on.load() == 2; }));
  }
  capturer = nullptr;
  struct sigaction after {};
  sigaction(kSignal, nullptr, &after);
  EXPECT_EQ(after.sa_handler, action.sa_handler);
  EXPECT_EQ(after.sa_flags & (SA_SIGINFO | SA_RESTART), action.sa_flags);
  EXPECT_TRUE(sigismember(&after.sa_mask, SIGUSR1));
}

INSTANTIATE_TEST_SUITE_P(Handlers, ChainedSignalTest, ::testing::Values(0, SA_SIGINFO | SA_RESTART));

// A handler without SA_RESTART makes every wait end, so the capturer must leave all waits alone.
TEST_F(PlainSignalTest, InterruptsNoWaitThatWouldNotRestart) {
  struct sigaction action {};
  action.sa_handler = CountSignal;
  sigaction(kSignal, &action, nullptr);
  auto capturer = CreateCapturer(kSignal);
  StalledThread thread(testing::WaitForLock);
  auto stack = std::make_unique<Stack>();
  capturer->RefreshModules();
  for (int i = 0; i < 100; ++i) capturer->Capture(thread.tid(), stack.get());
  EXPECT_EQ(capturer->counters().signals_sent.value(), 0u);
}

TEST_F(PlainSignalTest, IgnoresForeignSignalsThatWereIgnored) {
  signal(kSignal, SIG_IGN);
  auto capturer = CreateCapturer(kSignal);
  kill(getpid(), kSignal);
  capturer = nullptr;
  struct sigaction after {};
  sigaction(kSignal, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace lagwatch::stack
