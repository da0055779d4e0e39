// SPDX-License-Identifier: Apache-2.0
// Time that is not the program's fault: stops, debuggers; and the watchdog's own sleep.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <thread>

#include "stack/threads/thread_counters.h"
#include "stack/threads/thread_state.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using std::chrono::milliseconds;

void Spin(milliseconds duration) {
  int64_t end_ns = base::ThreadCpuNs(gettid()) + duration.count() * kNsPerMs;
  while (base::ThreadCpuNs(gettid()) < end_ns) {
  }
}

class TimeDiscountTest : public ::testing::Test {
 protected:
  static constexpr int64_t kThresholdNs = 400 * kNsPerMs;

  TimeDiscountTest() {
    WatchOptions options;
    options.threshold_ns = kThresholdNs;
    options.check_period_ns = 100 * kNsPerMs;
    options.sample_interval_ns = 10 * kNsPerMs;
    watchdog_ = std::make_unique<Watchdog>(options, registry_.get(), capturer_.get(), &sink_);
    EXPECT_TRUE(watchdog_->Start().ok());
    loop_ = registry_->Add("main", gettid());
  }
  ~TimeDiscountTest() override {
    registry_->Remove(loop_);
    EXPECT_TRUE(watchdog_->TryStop());
  }

  // A process that stops this one after `delay` and lets it go on after `duration`.
  class Stopper {
   public:
    Stopper(milliseconds delay, milliseconds duration) {
      pid_t target = getpid();
      child_ = fork();
      if (child_ != 0) return;
      usleep(static_cast<useconds_t>(delay.count() * 1000));
      const int64_t begin_ns = base::SystemClock().MonoNs();
      kill(target, SIGSTOP);
      usleep(static_cast<useconds_t>(duration.count() * 1000));
      *stopped_ns_ = base::SystemClock().MonoNs() - begin_ns;
      kill(target, SIGCONT);
      _exit(0);
    }
    ~Stopper() {
      waitpid(child_, nullptr, 0);
      munmap(const_cast<int64_t*>(stopped_ns_), sizeof *stopped_ns_);
    }
    // The time that the process has been stopped; 0 until it was.
    int64_t stopped_ns() const { return *stopped_ns_; }

   private:
    volatile int64_t* const stopped_ns_ = static_cast<int64_t*>(
        mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    pid_t child_;
  };

  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  std::unique_ptr<stack::StackCapturer> capturer_ =
      stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  testing::RecordingSink sink_;
  std::unique_ptr<Watchdog> watchdog_;
  WatchedLoop* loop_;
};

TEST_F(TimeDiscountTest, AStoppedProcessDoesNotHang) {
  int64_t ran_ns = base::SystemClock().MonoNs();
  {
    Stopper stopper(milliseconds(10), milliseconds(1500));
    loop_->probe.Begin("short");
    while (stopper.stopped_ns() == 0) Spin(milliseconds(1));
    loop_->probe.End();
    ran_ns = base::SystemClock().MonoNs() - ran_ns - stopper.stopped_ns();
  }
  std::this_thread::sleep_for(milliseconds(100));
  // On a loaded machine the other process may come so late that this is a hang without the stop, too.
  if (ran_ns < kThresholdNs / 2) {
    EXPECT_EQ(sink_.hangs().size(), 0u);
  }
  EXPECT_GE(watchdog_->counters().stops.value(), 1u);
  EXPECT_GE(watchdog_->counters().stopped_ms.value(), 500u);
}

TEST_F(TimeDiscountTest, AHangInWhichTheProcessWasStoppedIsAsLongAsItRan) {
  int64_t begin_ns = base::SystemClock().MonoNs();
  {
    Stopper stopper(milliseconds(600), milliseconds(3000));
    loop_->probe.Begin("long");
    Spin(milliseconds(900));
    loop_->probe.End();
  }
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  int64_t wall_ns = base::SystemClock().MonoNs() - begin_ns;
  int64_t duration_ns = sink_.ends()[0].second;
  EXPECT_GE(duration_ns, 800 * kNsPerMs);
  EXPECT_LT(duration_ns, wall_ns - 2000 * kNsPerMs);
}

TEST_F(TimeDiscountTest, AReportSaysHowLongTheProcessWasStopped) {
  constexpr int64_t kSlackNs = 100 * kNsPerMs;  // a shorter gap is no stop
  const int64_t queued_ns = stack::ReadRunQueueNs(base::OwnThread(gettid()));
  int64_t begin_ns = base::SystemClock().MonoNs();
  {
    Stopper stopper(milliseconds(250), milliseconds(1500));  // in the sampling window
    loop_->probe.Begin("long");
    Spin(milliseconds(900));
    loop_->probe.End();
  }
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink_.hangs().empty(); }));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_GE(hang.discounted.stopped_ns, 1000 * kNsPerMs);
  EXPECT_LT(hang.elapsed_ns, base::SystemClock().MonoNs() - begin_ns - 1000 * kNsPerMs);
  // The account does not have the stop, after which the thread was ready before it had a processor.
  const policies::TimeShares& shares = hang.verdict.shares;
  EXPECT_LT(shares.wall_ns, hang.elapsed_ns);
  EXPECT_LE(shares.run_queue_ns, stack::ReadRunQueueNs(base::OwnThread(gettid())) - queued_ns + kSlackNs);
  EXPECT_LT(shares.stopped_ns, 500 * kNsPerMs);
}

TEST_F(TimeDiscountTest, SaysNothingUnderADebugger) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t target = getpid();
  pid_t tracer = fork();
  if (tracer == 0) {
    char go;
    if (read(ready[0], &go, 1) != 1 || ptrace(PTRACE_SEIZE, target, nullptr, nullptr) != 0) _exit(1);
    for (int status = 0; waitpid(target, &status, __WALL) > 0;) {
      if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, target, nullptr, WSTOPSIG(status));
    }
    _exit(0);
  }
  prctl(PR_SET_PTRACER, tracer);
  ASSERT_EQ(write(ready[1], "g", 1), 1);
  bool is_traced = testing::WaitUntil([&] { return stack::ReadTracer(base::Process::Own()) != 0; }, 5);
  if (is_traced) {
    EXPECT_EQ(stack::ReadTracer(base::Process::Own()), tracer);
    loop_->probe.Begin("long");
    Spin(milliseconds(900));
    loop_->probe.End();
    EXPECT_EQ(sink_.hangs().size(), 0u);
    EXPECT_GE(watchdog_->counters().checks_under_debugger.value(), 1u);
  }
  kill(tracer, SIGKILL);
  waitpid(tracer, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  if (!is_traced) GTEST_SKIP() << "the kernel does not let a child trace its parent";
}

class SlowListener final : public HangListener {
 public:
  void OnHangBegin(const HangNotice&) override {}
  void OnHangEnd(const HangNotice&) override {
    is_called.store(true);
    std::this_thread::sleep_for(milliseconds(1500));
  }
  void OnFiltered(const HangNotice&, FilterReason) override {}
  std::atomic<bool> is_called{false};
};

TEST_F(TimeDiscountTest, AListenerThatTakesItsTimeIsNoStopOfTheProcess) {
  EXPECT_TRUE(watchdog_->TryStop());
  SlowListener listener;
  WatchOptions options;
  options.threshold_ns = kThresholdNs;
  options.check_period_ns = 100 * kNsPerMs;
  options.listener = &listener;
  watchdog_ = std::make_unique<Watchdog>(options, registry_.get(), capturer_.get(), &sink_);
  ASSERT_TRUE(watchdog_->Start().ok());
  loop_->probe.Begin("first");
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() == 1; }, 10));
  loop_->probe.End();
  EXPECT_TRUE(testing::WaitUntil([&] { return listener.is_called.load(); }, 10));
  const int64_t begin_ns = base::SystemClock().MonoNs();
  loop_->probe.Begin("second");
  // A sleep: a process that computes is known not to be stopped.
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() == 2; }, 10));
  const int64_t elapsed_ns = base::SystemClock().MonoNs() - begin_ns;
  loop_->probe.End();
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() == 2; }, 10));
  EXPECT_EQ(watchdog_->counters().stops.value(), 0u);
  EXPECT_EQ(sink_.hangs()[1].discounted.stopped_ns, 0);
  EXPECT_GE(sink_.hangs()[1].elapsed_ns, 1000 * kNsPerMs);
  EXPECT_LE(sink_.hangs()[1].elapsed_ns, elapsed_ns);
  EXPECT_GE(sink_.ends()[1].second, 1000 * kNsPerMs);
  EXPECT_TRUE(watchdog_->TryStop());  // it calls the listener
}

TEST_F(TimeDiscountTest, SleepsForGoodWhileAllLoopsAreIdleAndIsWokenByTheNextDispatch) {
  auto rounds_over = [&](milliseconds duration) {
    int before = sink_.rounds();
    std::this_thread::sleep_for(duration);
    return sink_.rounds() - before;
  };
  ASSERT_TRUE(testing::WaitUntil([&] { return rounds_over(milliseconds(500)) == 0; }));
  EXPECT_EQ(rounds_over(milliseconds(1500)), 0);
  for (int spell = 0; spell < 3; ++spell) {
    int rounds = sink_.rounds();
    loop_->probe.Begin("after an idle spell");
    EXPECT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > rounds; }, 5));
    EXPECT_TRUE(
        testing::WaitUntil([&] { return sink_.hangs().size() == static_cast<size_t>(spell) + 1; }, 5));
    loop_->probe.End();
    EXPECT_TRUE(testing::WaitUntil([&] { return rounds_over(milliseconds(500)) == 0; }));
  }
}

TEST_F(TimeDiscountTest, MissesNoDispatchThatBeginsWhileItGoesToSleep) {
  for (int i = 0; i < 8; ++i) {
    size_t hangs = sink_.hangs().size();
    // The watchdog goes to sleep about two looks after the last dispatch.
    std::this_thread::sleep_for(milliseconds(370 + 12 * i));
    loop_->probe.Begin("at any time");
    EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() == hangs + 1; }, 5)) << i;
    loop_->probe.End();
  }
}

}  // namespace
}  // namespace lagwatch::watchdog
