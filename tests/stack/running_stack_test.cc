// SPDX-License-Identifier: Apache-2.0
// Threads caught while they run, by the real signal. The oracle is glibc's own unwinder, which each thread
// asks right before.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <vector>

#include "base/process/safe_memory.h"
#include "tests/stack/caught_stack.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

struct Oracle {
  std::vector<void*> return_addresses = std::vector<void*>(64);
  std::atomic<bool> is_ready{false};
};

// Spin() saves nothing on the stack: the innermost frame has only its caller's return address.
[[gnu::noinline]] void AskThenSpin(Oracle* oracle, const StopFlag& stop) {
  int size = backtrace(oracle->return_addresses.data(), static_cast<int>(oracle->return_addresses.size()));
  oracle->return_addresses.resize(static_cast<size_t>(size));
  oracle->is_ready = true;
  testing::Spin(stop);
  asm volatile("");
}

// Its frame's size is known to its frame pointer only.
[[gnu::noinline]] void AskBelowAFrameOfAnySize(Oracle* oracle, const StopFlag& stop) {
  volatile size_t size_bytes = 1000;
  auto* room = static_cast<volatile char*>(__builtin_alloca(size_bytes));
  room[0] = 1;
  AskThenSpin(oracle, stop);
  room[1] = room[0];
}

struct AsksWhenDestroyed {
  ~AsksWhenDestroyed() { AskThenSpin(oracle, stop); }
  Oracle* oracle;
  const StopFlag& stop;
};
[[gnu::noinline]] void AskWhileAnExceptionFlies(Oracle* oracle, const StopFlag& stop) {
  try {
    AsksWhenDestroyed asks{oracle, stop};
    throw 1;
  } catch (int) {
  }
}

Oracle* g_oracle = nullptr;
const StopFlag* g_stop = nullptr;
[[gnu::noinline]] void AskInAHandler(Oracle* oracle, const StopFlag& stop) {
  g_oracle = oracle;
  g_stop = &stop;
  struct sigaction action {};
  action.sa_handler = [](int) { AskThenSpin(g_oracle, *g_stop); };
  struct sigaction before {};
  sigaction(SIGURG, &action, &before);
  pthread_kill(pthread_self(), SIGURG);
  sigaction(SIGURG, &before, nullptr);
}

struct Situation {
  const char* name;
  void (*ask)(Oracle* oracle, const StopFlag& stop);
};

class RunningStackTest : public CaughtStackTest, public ::testing::WithParamInterface<Situation> {};

TEST_P(RunningStackTest, AgreesWithBacktraceOnAllCallers) {
#if defined(__SANITIZE_THREAD__)
  if (GetParam().ask == AskInAHandler)
    GTEST_SKIP() << "the thread sanitizer blocks all signals while a handler runs";
#endif
  Oracle oracle;
  StalledThread thread([&](const StopFlag& stop) {
    GetParam().ask(&oracle, stop);
    asm volatile("");
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return oracle.is_ready.load(); }));
  Capture(thread.tid());
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
  int asking = IndexOf(&AskThenSpin);
  ASSERT_GE(asking, 0);
  std::vector<uint64_t> ours;
  for (uint32_t i = static_cast<uint32_t>(asking) + 1; i < stack_->frame_count; ++i)
    ours.push_back(AddressOf(i));
  EXPECT_GE(ours.size(), 5u);
  // Without the innermost, which are the asking function's own (and a sanitizer's, which wraps backtrace).
  ASSERT_GE(oracle.return_addresses.size(), ours.size());
  EXPECT_LE(oracle.return_addresses.size(), ours.size() + 2);
  const void* const* theirs = &oracle.return_addresses[oracle.return_addresses.size() - ours.size()];
  for (size_t i = 0; i < ours.size(); ++i) {
    // Ours is the call's last byte, theirs the byte after it; where a signal came, both are the instruction.
    uint64_t beyond = reinterpret_cast<uint64_t>(theirs[i]) - ours[i];
    EXPECT_LE(beyond, 1u) << "caller " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Situations, RunningStackTest,
                         ::testing::Values(Situation{"Leaf", AskThenSpin},
                                           Situation{"FrameOfAnySize", AskBelowAFrameOfAnySize},
                                           Situation{"ExceptionInFlight", AskWhileAnExceptionFlies},
                                           Situation{"SignalHandler", AskInAHandler}),
                         [](const auto& test) { return test.param.name; });

// The unwinder alone, on a copy of the test's own: the handler's depends on a system call that not
// every machine allows.
class CoroutineStackTest : public CaughtStackTest {
 protected:
  static constexpr size_t kStackBytes = 64 * 1024;

  [[gnu::noinline]] static void Run() {
    testing::Spin(*stop_);
    asm volatile("");
  }
  static void Enter(const StopFlag& stop) {
    stop_ = &stop;
    getcontext(&inside_);
    inside_.uc_stack = {.ss_sp = memory_, .ss_flags = 0, .ss_size = kStackBytes};
    inside_.uc_link = &outside_;
    makecontext(&inside_, Run, 0);
    swapcontext(&outside_, &inside_);
  }

  alignas(4096) static inline char memory_[kStackBytes];
  static inline const StopFlag* stop_ = nullptr;
  static inline ucontext_t inside_{};
  static inline ucontext_t outside_{};
};

TEST_F(CoroutineStackTest, IsCompleteAtTheCoroutinesBegin) {
  StalledThread thread(Enter);
  Capture(thread.tid());
  auto raw = std::make_unique<RawStack>();
  raw->registers = capturer_->answer_for_test()->registers;
  raw->address = raw->registers.stack_pointer() - kRedZoneBytes;
  raw->end = reinterpret_cast<uint64_t>(memory_) + kStackBytes;
  ASSERT_LE(raw->end - raw->address, kStackBytes);
  raw->size_bytes = base::ReadOwnMemory(raw->address, raw->bytes, raw->end - raw->address);
  CreateTableUnwinder().value()->Unwind(*raw, capturer_->modules(), stack_.get());
  EXPECT_TRUE(IsIn(0, &testing::Spin));
  EXPECT_TRUE(IsIn(1, &Run));
  EXPECT_EQ(stack_->completeness, Completeness::kComplete);
}

}  // namespace
}  // namespace lagwatch::stack
