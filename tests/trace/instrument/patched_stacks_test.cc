// SPDX-License-Identifier: Apache-2.0
// Stacks of threads in patched functions are those that they have unpatched.
#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "stack/code_map.h"
#include "stack/own_stack.h"
#include "stack/signal/context.h"
#include "stack/stack_capturer.h"
#include "tests/testing/process.h"
#include "tests/trace/instrument/patched_flow.h"
#include "tests/trace/instrument/recording.h"
#include "tests/trace/instrument/scripted_calls.h"
#include "trace/instrument/function_patcher.h"

namespace lagwatch::trace {
namespace {

constexpr int kDepth = 12;
const FunctionFilter kStackSubjects{.allow_modules = {"trace_instrument_tests"}};

using Functions = std::vector<uint64_t>;  // by where they start, innermost first

class PatchedStacks : public ::testing::TestWithParam<const PatchedFlow& (*)()> {
 protected:
  PatchedStacks() : flow_(GetParam()()) { code_->Refresh(); }
  ~PatchedStacks() override { Patcher().Clear(); }
  void SetUp() override {
    if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
    auto capturer = stack::StackCapturer::Create({}, code_);
    ASSERT_TRUE(capturer.ok());
    capturer_ = std::move(capturer).value();
  }
  void Patch() {
    Patcher().Apply(kStackSubjects);
    recording_ = std::make_unique<ScopedRecording>(CallClock::kPrecise, 1024);
    code_->Refresh();
  }
  Functions FunctionsOf(const stack::Stack& stack) const {
    Functions functions;
    for (const stack::Frame& frame : stack.view())
      functions.push_back(frame.module == stack::kNoModule ? 0 : frame.FunctionHash());
    return functions;
  }
  Functions WhileItSleeps() {
    volatile bool is_done = false;
    std::atomic<int> tid{0};
    std::thread sleeper([&] {
      tid = gettid();
      flow_.sleep_in(kDepth, &is_done);
    });
    EXPECT_TRUE(testing::WaitUntil([&] {
      return tid != 0 && capturer_->CaptureAsleep(tid, stack_.get()) &&
             stack_->completeness == stack::Completeness::kComplete &&
             stack_->frame_count > static_cast<uint32_t>(kDepth);
    }));
    is_done = true;
    sleeper.join();
    return FunctionsOf(*stack_);
  }
  Functions FromTheOwnSignalHandler();

  const PatchedFlow& flow_;
  std::shared_ptr<stack::CodeMap> code_ = stack::CodeMap::Create().value();
  std::unique_ptr<stack::StackCapturer> capturer_;
  std::unique_ptr<stack::Stack> stack_{new stack::Stack};
  std::unique_ptr<ScopedRecording> recording_;
};

TEST_P(PatchedStacks, OfSleepersAreTheSame) {
  const Functions unpatched = WhileItSleeps();
  Patch();
  EXPECT_EQ(WhileItSleeps(), unpatched);
}

// By the time at which a copy is unwound, what was under way has ended, and its thunk is another call's.
TEST_P(PatchedStacks, OfRunningThreadsAreWholeAndEndWhereTheyBegan) {
  const Functions asleep = WhileItSleeps();
  Patch();
  std::atomic<bool> should_stop{false};
  std::atomic<int> tid{0};
  std::thread runner([&] {
    tid = gettid();
    while (!should_stop) {
      flow_.recurse(kDepth);
      flow_.leaf(1);
      flow_.catch_from(3);
    }
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return tid != 0; }));
  constexpr size_t kThreadStart = 2;  // the C library's
  int caught = 0;
  int whole = 0;
  EXPECT_TRUE(testing::WaitUntil([&] {
    capturer_->Capture(tid, stack_.get());
    if (stack_->frame_count == 0) return false;
    ++caught;
    const Functions functions = FunctionsOf(*stack_);
    EXPECT_EQ(std::count(functions.begin() + 1, functions.end(), 0U), 0) << "a thunk in place of a caller";
    whole += stack_->completeness == stack::Completeness::kComplete && functions.size() > kThreadStart &&
             std::equal(asleep.end() - kThreadStart, asleep.end(), functions.end() - kThreadStart);
    return caught == 500;
  }));
  should_stop = true;
  runner.join();
  EXPECT_GE(whole, caught * 95 / 100) << "but for those in the stub of one jump";
}

const stack::OwnStackWalker* g_walker;
std::array<uint64_t, 64> g_addresses;
std::atomic<size_t> g_address_count;
std::atomic<bool> g_is_complete;

void WalkInterrupted(int, siginfo_t*, void* context) {
  stack::Registers registers;
  stack::ReadContext(context, &registers);
  const stack::CallRegisters here{registers.program_counter() + 1, registers.stack_pointer(),
                                  registers.value[stack::Registers::kFramePointer],
                                  registers.value[stack::Registers::kBasePointer]};
  bool is_complete = false;
  const size_t count = g_walker->Walk(here, g_addresses.data(), g_addresses.size(), &is_complete);
  g_is_complete = is_complete;
  g_address_count = count;
}

Functions PatchedStacks::FromTheOwnSignalHandler() {
  const auto walker = stack::OwnStackWalker::Create(code_).value();
  g_walker = walker.get();
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = &WalkInterrupted;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, &before);
  volatile bool is_done = false;
  std::thread sleeper([&] { flow_.sleep_in(kDepth, &is_done); });
  EXPECT_TRUE(testing::WaitUntil([&] {
    g_address_count = 0;
    pthread_kill(sleeper.native_handle(), SIGUSR1);
    return testing::WaitUntil([&] { return g_address_count != 0; }) && g_is_complete &&
           g_address_count > static_cast<size_t>(kDepth);
  }));
  is_done = true;
  sleeper.join();
  sigaction(SIGUSR1, &before, nullptr);
  Functions functions;
  for (size_t i = 0; i < g_address_count; ++i) {
    const stack::Frame frame = code_->Resolve(g_addresses[i]);
    functions.push_back(frame.module == stack::kNoModule ? 0 : frame.FunctionHash());
  }
  return functions;
}

TEST_P(PatchedStacks, ThatThreadsWalkThemselvesAreTheSame) {
  const Functions unpatched = FromTheOwnSignalHandler();
  Patch();
  EXPECT_EQ(FromTheOwnSignalHandler(), unpatched);
}

INSTANTIATE_TEST_SUITE_P(Compilers, PatchedStacks,
                         ::testing::Values(&FirstPatchedFlow, &SecondPatchedFlow, &ThirdPatchedFlow),
                         CompilersNumber());

}  // namespace
}  // namespace lagwatch::trace
