// SPDX-License-Identifier: Apache-2.0
// Walks of the own stack against glibc's backtrace(), which the thread calls at the same place, and against
// captures of it.
#include "stack/own_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stack/stack_capturer.h"
#include "tests/stack/own_stack_spots.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;
using testing::StopFlag;

class OwnStackTest : public ::testing::Test {
 public:
  // A thread's view of itself: return addresses of the callers, and the oracle's, which begin with the
  // looking functions' own.
  struct View {
    const OwnStackWalker* walker;
    std::array<uint64_t, 512> ours{};
    std::array<void*, 512> theirs{};
    size_t our_count = 0;
    size_t their_count = 0;
    bool is_complete = false;

    bool IsEqual() const {
      if (!is_complete || our_count == 0 || their_count < our_count || their_count > our_count + 3)
        return false;
      for (size_t i = 0; i < our_count; ++i) {
        if (ours[our_count - 1 - i] != reinterpret_cast<uint64_t>(theirs[their_count - 1 - i])) return false;
      }
      return true;
    }
    std::string Describe() const {
      std::string text = is_complete ? "complete" : "incomplete";
      char line[64];
      for (size_t i = 0; i < std::max(our_count, their_count); ++i) {
        snprintf(line, sizeof line, "\n%16lx %16lx", i < our_count ? ours[our_count - 1 - i] : 0,
                 i < their_count ? reinterpret_cast<uint64_t>(theirs[their_count - 1 - i]) : 0);
        text += line;
      }
      return text;
    }
  };

  [[gnu::noinline]] static void LookHere(void* argument) {
    auto* view = static_cast<View*>(argument);
    view->their_count =
        static_cast<size_t>(backtrace(view->theirs.data(), static_cast<int>(view->theirs.size())));
    view->our_count = view->walker->WalkCallers(view->ours.data(), view->ours.size(), &view->is_complete);
    asm volatile("" ::: "memory");
  }

 protected:
  OwnStackTest() {
    void* nothing[1];
    backtrace(nothing, 1);  // loads what it needs, which a signal handler must not
    auto walker = OwnStackWalker::Create(code_);
    EXPECT_TRUE(walker.ok()) << walker.status().message();
    walker_ = std::move(walker).value();
    view_.walker = walker_.get();
  }

  // Again until the tables of all that is on the way are there.
  template <typename Visit>
  void ExpectEqualViews(Visit visit) {
    testing::WaitUntil([&] {
      visit();
      code_->RefreshIfDue();
      return view_.is_complete;
    });
    visit();
    EXPECT_TRUE(view_.IsEqual()) << view_.Describe();
  }

  std::shared_ptr<CodeMap> code_ = CodeMap::Create().value();
  std::unique_ptr<OwnStackWalker> walker_;
  View view_{};
};

TEST_F(OwnStackTest, ShowsTheCallersOfAPlainFunction) {
  ExpectEqualViews([&] { LookHere(&view_); });
}

TEST_F(OwnStackTest, ShowsWhatWasThereOnAnyThread) {
  ExpectEqualViews([&] { std::thread(LookHere, &view_).join(); });
  EXPECT_GE(view_.our_count, 3u);
}

struct Spot {
  const char* name;
  void (*visit)(Look look, void* argument);
};
class OwnStackSpotTest : public OwnStackTest, public ::testing::WithParamInterface<Spot> {};

TEST_P(OwnStackSpotTest, AgreesWithBacktrace) {
  ExpectEqualViews([&] { GetParam().visit(LookHere, &view_); });
  ExpectEqualViews([&] { std::thread([&] { GetParam().visit(LookHere, &view_); }).join(); });
}

INSTANTIATE_TEST_SUITE_P(Spots, OwnStackSpotTest,
                         ::testing::Values(Spot{"Recursion", LookFromRecursion},
                                           Spot{"VariableFrame", LookFromVariableFrame},
                                           Spot{"Sort", LookFromSort}, Spot{"Catch", LookFromCatch},
                                           Spot{"DestructorInFlight", LookFromDestructorInFlight},
                                           Spot{"RealignedFrame", LookFromRealignedFrame},
                                           Spot{"SignalHandler", LookFromSignalHandler}),
                         [](const auto& spot) { return std::string(spot.param.name); });

TEST_F(OwnStackTest, WalksOutOfAHandlerOnAStackOfItsOwn) {
  LAGWATCH_SKIP_UNDER_EMULATION("there is no process_vm_readv(2)");
  std::vector<char> memory(128 << 10);
  auto visit = [&] {
    std::thread([&] {
      stack_t alternate{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
      sigaltstack(&alternate, nullptr);
      static View* view;
      view = &view_;
      struct sigaction action {};
      action.sa_handler = [](int) { LookHere(view); };
      action.sa_flags = SA_ONSTACK;
      struct sigaction before {};
      sigaction(SIGURG, &action, &before);
      raise(SIGURG);
      sigaction(SIGURG, &before, nullptr);
      alternate.ss_flags = SS_DISABLE;
      sigaltstack(&alternate, nullptr);
    }).join();
  };
  ExpectEqualViews(visit);
}

// On mapped memory right below other memory, in which nothing may be read.
TEST_F(OwnStackTest, EndsWhereACoroutineBegan) {
  static ucontext_t inside;
  static ucontext_t outside;
  static View* view;
  view = &view_;
  std::vector<char> memory(128 << 10);
  auto visit = [&] {
    getcontext(&inside);
    inside.uc_stack = {.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
    inside.uc_link = &outside;
    makecontext(
        &inside, [] { LookFromRecursion(LookHere, view); }, 0);
    swapcontext(&outside, &inside);
  };
  EXPECT_TRUE(testing::WaitUntil([&] {
    visit();
    return view_.is_complete;
  }));
  EXPECT_GT(view_.our_count, 40u);
}

TEST_F(OwnStackTest, KeepsErrnoAndItsCapacity) {
  ExpectEqualViews([&] { LookHere(&view_); });
  std::array<uint64_t, 4> few{};
  bool is_complete = true;
  errno = 4711;
  EXPECT_EQ(walker_->WalkCallers(few.data(), 2, &is_complete), 2u);
  EXPECT_FALSE(is_complete);
  EXPECT_EQ(few[2], 0u);
  EXPECT_EQ(walker_->WalkCallers(few.data(), 0, &is_complete), 0u);
  EXPECT_EQ(errno, 4711);
}

TEST_F(OwnStackTest, EndsAtWhatIsNoStack) {
  std::array<uint64_t, 64> addresses{};
  bool is_complete = true;
  ExpectEqualViews([&] { LookHere(&view_); });
  for (uint64_t stack_pointer :
       {uint64_t{0}, uint64_t{8}, ~uint64_t{0} - 7, CallRegisters::Here().stack_pointer}) {
    for (uint64_t frame_pointer : {uint64_t{0}, ~uint64_t{0} - 15, CallRegisters::Here().stack_pointer - 8}) {
      CallRegisters frame = CallRegisters::Here();
      frame.stack_pointer = stack_pointer;
      frame.frame_pointer = frame_pointer;
      EXPECT_GE(walker_->Walk(frame, addresses.data(), addresses.size(), &is_complete), 1u);
    }
  }
  EXPECT_EQ(walker_->Walk({1, CallRegisters::Here().stack_pointer, 0}, addresses.data(), 4, &is_complete),
            1u);
  EXPECT_FALSE(is_complete);
}

// The thread stands still between its own look and the capture.
TEST_F(OwnStackTest, AgreesWithCaptures) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc shows the emulator's registers");
  constexpr int64_t kPatienceNs = 10'000'000'000;  // a loaded machine may be late
  auto capturer = StackCapturer::Create({.signal_timeout_ns = kPatienceNs}, code_).value();
  auto stack = std::make_unique<Stack>();
  std::atomic<bool> has_looked{false};
  StalledThread thread([&](const StopFlag& stop) {
    while (!view_.is_complete) LookHere(&view_);
    has_looked = true;
    testing::Spin(stop);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return has_looked.load(); }));
  // A thread that takes a page fault sleeps, and gets no signal in that capture.
  ASSERT_TRUE(testing::WaitUntil([&] {
    capturer->Capture(thread.tid(), stack.get());
    return stack->completeness == Completeness::kComplete;
  }));
  ASSERT_GE(stack->frame_count, 3u);
  // The innermost of both are in the same function at different places.
  for (uint32_t i = 2; i < stack->frame_count; ++i) {
    const Frame& frame = stack->frames[stack->frame_count + 1 - i];
    const Frame resolved = code_->Resolve(view_.ours[view_.our_count + 1 - i]);
    EXPECT_EQ(resolved.offset, frame.offset);
    EXPECT_EQ(resolved.module, frame.module);
  }
}

// Signals at any instruction of malloc, of the sorting, of the loader's stubs.
TEST_F(OwnStackTest, AgreesWithBacktraceWhereverAThreadIsInterrupted) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' own backtrace() is not for signal handlers";
#endif
  LAGWATCH_SKIP_UNDER_EMULATION("it interrupts between translated blocks only");
  constexpr int kWanted = 400;
  static View* view;
  static std::atomic<int> equal_count;
  static std::atomic<int> total_count;
  view = &view_;
  equal_count = total_count = 0;
  auto work = [] {
    std::vector<std::string> words;
    for (int i = 0; i < 300; ++i) words.push_back(std::to_string(i * 7919 % 1000) + std::string(i % 50, 'x'));
    std::sort(words.begin(), words.end());
    int numbers[200];
    for (int i = 0; i < 200; ++i) numbers[i] = i * 31 % 97;
    qsort(numbers, 200, sizeof numbers[0], [](const void* a, const void* b) {
      return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
  };
  ExpectEqualViews([&] { LookFromSignalHandler(LookHere, &view_); });
  struct sigaction action {};
  action.sa_handler = [](int) {
    LookHere(view);
    ++total_count;
    equal_count += view->IsEqual();
  };
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  sigaction(SIGALRM, &action, &before);
  itimerval interval{.it_interval = {0, 500}, .it_value = {0, 500}};
  setitimer(ITIMER_REAL, &interval, nullptr);
  EXPECT_TRUE(testing::WaitUntil([&] {
    work();
    return total_count >= kWanted;
  }));
  interval = {};
  setitimer(ITIMER_REAL, &interval, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_GE(equal_count * 100, total_count * 95) << view_.Describe();
  RecordProperty("equal", equal_count);
  RecordProperty("of", total_count);
}

// A thread that walks while modules come and go gets frames that are right or a stack that
// is marked incomplete.
TEST_F(OwnStackTest, ManyThreadsWalkWhileModulesComeAndGo) {
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::atomic<int> equal_count{0};
  std::atomic<int> wrong_count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      auto view = std::make_unique<View>();
      view->walker = walker_.get();
      while (!stop.load()) {
        LookFromRecursion(LookHere, view.get());
        const bool is_equal = view->IsEqual();
        equal_count += is_equal;
        wrong_count += view->is_complete && !is_equal;
      }
    });
  }
  EXPECT_TRUE(testing::WaitUntil([&] { return equal_count.load() != 0; }));
  const int before = equal_count;
  for (int i = 0; i < 200 || equal_count.load() < before + 100; ++i) {
    void* library = dlopen(i % 2 == 0 ? "libresolv.so.2" : "libutil.so.1", RTLD_NOW);
    code_->Refresh();
    if (library != nullptr) dlclose(library);
    code_->Refresh();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_count, 0);
}

}  // namespace
}  // namespace lagwatch::stack
