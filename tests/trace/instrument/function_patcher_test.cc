// SPDX-License-Identifier: Apache-2.0
// Code that is patched while it runs, on the machine's own processor.
#include "trace/instrument/function_patcher.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/clock.h"
#include "tests/trace/instrument/patched_flow.h"
#include "tests/trace/instrument/recording.h"
#include "tests/trace/instrument/scripted_calls.h"
#include "trace/instrument/return_thunks.h"

namespace lagwatch::trace {
namespace {

using Flow = const PatchedFlow& (*)();

const FunctionFilter kSubjects{.allow_modules = {"trace_instrument_tests", "lib*_subject.so"}};

uint64_t CountOf(const std::vector<CallRecord>& calls, const void* function, bool is_enter) {
  uint64_t count = 0;
  for (const CallRecord& call : calls)
    count += call.address == reinterpret_cast<uint64_t>(function) && call.is_enter == is_enter ? 1 : 0;
  return count;
}

class PatchedFunctions : public ::testing::TestWithParam<Flow> {
 protected:
  PatchedFunctions() : flow_(GetParam()()) {
    if (!CanPatch()) return;
    report_ = Patcher().Apply(kSubjects);
    EXPECT_EQ(report_.wanted, report_.patched);
    recording_.emplace(CallClock::kPrecise, 1024);
  }
  ~PatchedFunctions() override { Patcher().Clear(); }
  void SetUp() override {
    if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
  }

  const PatchedFlow& flow_;
  PatchReport report_;
  std::optional<ScopedRecording> recording_;
};

TEST_P(PatchedFunctions, AreRecordedAndNotOnceUnpatched) {
  for (int i = 0; i < 10; ++i) ASSERT_EQ(flow_.leaf(i), i + 1);
  Patcher().Clear();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(flow_.leaf(i), i + 1);
  Patcher().Apply(kSubjects);
  ASSERT_EQ(flow_.leaf(1), 2);
  recording_->Stop();
  const auto calls = recording_->OwnCalls();
  const auto* leaf = reinterpret_cast<const void*>(flow_.leaf);
  EXPECT_EQ(CountOf(calls, leaf, true), 11U);
  EXPECT_EQ(CountOf(calls, leaf, false), 11U);
}

TEST_P(PatchedFunctions, GetTheirArgumentsAndGiveTheirResults) {
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(flow_.pass_all());
}

TEST_P(PatchedFunctions, LetExceptionsThrough) {
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(flow_.catch_from(i % 40), i % 40 + 1);
}

TEST_P(PatchedFunctions, LetJumpsThrough) {
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(flow_.jump_from(i % 40), 1);
  recording_->Stop();
  const auto calls = recording_->OwnCalls();
  EXPECT_EQ(CountOf(calls, reinterpret_cast<const void*>(flow_.jump_from), true), 5000U);
}

TEST_P(PatchedFunctions, LetThreadsEnd) {
  for (int i = 0; i < 300; ++i) {
    int destructors = 0;
    std::thread([&] { flow_.end_thread_from(i % 20, &destructors); }).join();
    ASSERT_EQ(destructors, i % 20 + 1);
  }
}

TEST_P(PatchedFunctions, ThatAreCalledLastTakeTheCallersPlace) {
  EXPECT_EQ(flow_.tail(1000, 0), 4000U);
  recording_->Stop();
  int depth = 0;
  for (const CallRecord& call : recording_->OwnCalls()) depth += call.is_enter ? 1 : -1;
  EXPECT_EQ(depth, 0);
}

TEST_P(PatchedFunctions, MayBeUnderWayMoreOftenThanThereAreThunks) {
  const ReturnStats before = ReturnThunkStats();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(flow_.recurse(5000), 5000);
  EXPECT_GT(ReturnThunkStats().returns_unnoticed, before.returns_unnoticed);
  ASSERT_EQ(flow_.recurse(500), 500);
}

TEST_P(PatchedFunctions, MayRunOnStacksInTurns) { EXPECT_EQ(flow_.switch_stacks(20000), 20000); }

TEST_P(PatchedFunctions, AreSeenThroughByUnwinders) {
  const auto* self = reinterpret_cast<const void*>(flow_.is_found_by_backtrace);
  EXPECT_TRUE(flow_.is_found_by_backtrace(5, self));
}

TEST_P(PatchedFunctions, EndInAForkedChildToo) {
  const pid_t child = fork();
  if (child == 0) _exit(flow_.catch_from(10) == 11 && flow_.recurse(50) == 50 && flow_.pass_all() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_P(PatchedFunctions, MayBeUnderWayWhenTheyArePatched) {
  Patcher().Clear();
  std::atomic<bool> should_stop{false};
  std::atomic<uint64_t> rounds{0};
  std::thread worker([&] {
    while (!should_stop) {
      if (flow_.recurse(60) != 60 || flow_.catch_from(9) != 10 || flow_.tail(30, 0) != 120 ||
          !flow_.pass_all())
        std::abort();
      ++rounds;
    }
  });
  const int64_t end_ns = base::SystemClock().MonoNs() + 2 * base::kNsPerSecond;
  while (base::SystemClock().MonoNs() < end_ns) {
    Patcher().Apply(kSubjects);
    Patcher().Clear();
  }
  should_stop = true;
  worker.join();
  EXPECT_GT(rounds, 10U);
}

std::atomic<const PatchedFlow*> g_handler_flow;

TEST_P(PatchedFunctions, MayBeCalledBySignalHandlersAnywhere) {
  g_handler_flow = &flow_;
  struct sigaction action {};
  action.sa_handler = [](int) {
    const PatchedFlow* flow = g_handler_flow;
    if (flow->recurse(7) != 7 || flow->leaf(1) != 2) std::abort();
  };
  struct sigaction previous {};
  sigaction(SIGUSR1, &action, &previous);
  std::atomic<bool> should_stop{false};
  std::thread worker([&] {
    while (!should_stop)
      if (flow_.recurse(20) != 20 || flow_.jump_from(6) != 1) std::abort();
  });
  for (int i = 0; i < 8000; ++i) {
    pthread_kill(worker.native_handle(), SIGUSR1);
    if (i % 4 == 0) std::this_thread::yield();
  }
  should_stop = true;
  worker.join();
  sigaction(SIGUSR1, &previous, nullptr);
}

// With a descriptor on the memory among the program's, a child could write to its parent, and a program that
// closes what it does not know would have its own file written to.
TEST(FunctionPatcher, OpensNothingAmongTheProgramsDescriptors) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer knows one table for all threads";
#endif
  if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
  Patcher().Clear();
  std::atomic<bool> stop{false};
  int rounds = 0;
  int missed = 0;
  std::thread program([&] {
    const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    for (; !stop; ++rounds) {
      const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
      missed += fd == lowest ? 0 : 1;
      close(fd);
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_GT(Patcher().Apply({.allow_modules = {"trace_instrument_tests"}}).patched, 0u);
    Patcher().Clear();
  }
  stop = true;
  program.join();
  EXPECT_GT(rounds, 100);
  EXPECT_EQ(missed, 0) << "of " << rounds;
}

TEST(FunctionPatcher, FollowsModulesThatComeAndGo) {
  if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
  ScopedRecording recording(CallClock::kPrecise, 256);
  std::atomic<bool> should_stop{false};
  std::thread patcher([&] {
    while (!should_stop) {
      Patcher().Apply(kSubjects);
      Patcher().Clear();
    }
  });
  for (int i = 0; i < 300; ++i) {
    void* library = dlopen(LAGWATCH_FLOW_SUBJECT, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto flow = reinterpret_cast<Flow>(dlsym(library, "_ZN8lagwatch5trace16FirstPatchedFlowEv"));
    ASSERT_NE(flow, nullptr);
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(flow().catch_from(8), 9);
      ASSERT_TRUE(flow().pass_all());
    }
    dlclose(library);
  }
  should_stop = true;
  patcher.join();
}

TEST(FunctionPatcher, PatchesALibraryThatWasLoadedAgain) {
  if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
  ScopedRecording recording;
  const FunctionFilter library_only{.allow_modules = {"lib*_subject.so"}, .allow_functions = {"*LeafOf*"}};
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen(LAGWATCH_FLOW_SUBJECT, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const PatchReport report = Patcher().Apply(library_only);
    EXPECT_EQ(report.patched, 1U);
    const auto flow = reinterpret_cast<Flow>(dlsym(library, "_ZN8lagwatch5trace16FirstPatchedFlowEv"));
    ASSERT_EQ(flow().leaf(1), 2);
    EXPECT_EQ(recording.OwnCalls().size(), 2 * (static_cast<size_t>(i) + 1));
    dlclose(library);
  }
  EXPECT_EQ(Patcher().Apply(library_only), PatchReport());
}

INSTANTIATE_TEST_SUITE_P(Compilers, PatchedFunctions,
                         ::testing::Values(&FirstPatchedFlow, &SecondPatchedFlow, &ThirdPatchedFlow),
                         CompilersNumber());

}  // namespace
}  // namespace lagwatch::trace
