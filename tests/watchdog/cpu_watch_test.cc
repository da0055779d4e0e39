// SPDX-License-Identifier: Apache-2.0
// Real threads that use real CPU time. The limits are such that any machine, however busy, lets the program
// exceed them in the end, and no idle program can.
#include "watchdog/cpu_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/samples/thread_loads.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using std::chrono::milliseconds;
using testing::RecordedHang;
using testing::StalledThread;
using testing::StopFlag;

void SpinAs(const char* name, const StopFlag& stop) {
  prctl(PR_SET_NAME, name);
  testing::Spin(stop);
}

void UseCpu(milliseconds duration) {
  const int64_t end_ns = base::ThreadCpuNs(gettid()) + duration.count() * kNsPerMs;
  while (base::ThreadCpuNs(gettid()) < end_ns) {
  }
}

TEST(ThreadLoads, TellWhoUsedHowMuchSinceTheLookBefore) {
  ThreadLoads loads(64);
  StopFlag stop{false};
  std::atomic<int32_t> tid{0};
  std::thread idle([&] {
    while (!stop) std::this_thread::sleep_for(milliseconds(1));
  });
  std::thread busy([&] {
    UseCpu(milliseconds(50));
    tid = gettid();
    testing::Spin(stop);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return tid != 0; }));
  const base::Clock& clock = base::SystemClock();
  const int64_t before_look_ns = base::ThreadCpuNs(tid);
  EXPECT_FALSE(loads.Look(base::Process::Own(), clock.MonoNs()));
  EXPECT_TRUE(loads.busiest().all().empty());
  const int64_t before_ns = base::ThreadCpuNs(tid);
  const int64_t begin_ns = clock.MonoNs();
  ASSERT_TRUE(testing::WaitUntil([&] { return base::ThreadCpuNs(tid) > before_ns + 100 * kNsPerMs; }));
  const int64_t end_ns = clock.MonoNs();
  EXPECT_TRUE(loads.Look(base::Process::Own(), clock.MonoNs()));
  ASSERT_FALSE(loads.busiest().all().empty());
  EXPECT_EQ(loads.busiest().all()[0].tid, tid);
  EXPECT_GE(loads.busiest().all()[0].cpu_ns, 100 * kNsPerMs);
  EXPECT_LE(loads.busiest().all()[0].cpu_ns, base::ThreadCpuNs(tid) - before_look_ns);
  EXPECT_GE(loads.wall_ns(), end_ns - begin_ns);
  for (const policies::ThreadLoad& load : loads.busiest().all()) EXPECT_NE(load.tid, gettid());
  loads.Forget();
  EXPECT_FALSE(loads.Look(base::Process::Own(), clock.MonoNs()));
  stop = true;
  idle.join();
  busy.join();
}

TEST(ThreadLoads, AThreadThatBeganSinceCountsFromItsBeginning) {
  ThreadLoads loads(64);
  StopFlag stop{false};
  loads.Look(base::Process::Own(), base::SystemClock().MonoNs());
  std::atomic<int32_t> tid{0};
  std::thread late([&] {
    UseCpu(milliseconds(50));
    tid = gettid();
    while (!stop) std::this_thread::sleep_for(milliseconds(1));
  });
  EXPECT_TRUE(testing::WaitUntil([&] { return tid != 0; }));
  EXPECT_TRUE(loads.Look(base::Process::Own(), base::SystemClock().MonoNs()));
  EXPECT_FALSE(loads.busiest().all().empty());
  if (!loads.busiest().all().empty()) {
    EXPECT_EQ(loads.busiest().all()[0].tid, tid);
    EXPECT_GE(loads.busiest().all()[0].cpu_ns, 50 * kNsPerMs);
  }
  stop = true;
  late.join();
}

TEST(ThreadLoads, WhoFindsNoRoomIsNotMadeUp) {
  ThreadLoads loads(1);
  StopFlag stop{false};
  std::thread a([&] { testing::Spin(stop); });
  std::thread b([&] { testing::Spin(stop); });
  for (int i = 0; i < 3; ++i) {
    loads.Look(base::Process::Own(), base::SystemClock().MonoNs());
    EXPECT_LE(loads.busiest().all().size(), 1u);
    std::this_thread::sleep_for(milliseconds(20));
  }
  stop = true;
  a.join();
  b.join();
}

TEST(UsableCores, AreThoseOfTheAffinity) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(getpid(), sizeof all, &all), 0);
  EXPECT_EQ(CountUsableCores(base::Process::Own()), CPU_COUNT(&all));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(getpid(), sizeof one, &one), 0);
  EXPECT_EQ(CountUsableCores(base::Process::Own()), 1);
  EXPECT_EQ(sched_setaffinity(getpid(), sizeof all, &all), 0);
}

class CpuWatchTest : public ::testing::Test {
 protected:
  CpuWatchTest() {
    options_.check_period_ns = 100 * kNsPerMs;
    options_.cpu.is_watched = true;
    options_.cpu.interval_ns = 100 * kNsPerMs;
    options_.cpu.window_ns = 1200 * kNsPerMs;
    options_.cpu.percent = options_.cpu.average_percent = options_.cpu.background_percent = 0;
  }
  ~CpuWatchTest() override {
    if (watchdog_ != nullptr) {
      EXPECT_TRUE(watchdog_->TryStop());
    }
  }
  void Start() {
    watchdog_ = std::make_unique<Watchdog>(options_, registry_.get(), capturer_.get(), &sink_);
    ASSERT_TRUE(watchdog_->Start().ok());
  }
  std::vector<RecordedHang> Of(HangKind kind) const {
    std::vector<RecordedHang> found;
    for (const RecordedHang& hang : sink_.hangs()) {
      if (hang.kind == kind) found.push_back(hang);
    }
    return found;
  }
  bool WaitFor(HangKind kind, size_t count = 1) const {
    return testing::WaitUntil([&] { return Of(kind).size() >= count; });
  }

  WatchOptions options_;
  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  // A loaded machine may be late.
  std::unique_ptr<stack::StackCapturer> capturer_ =
      stack::StackCapturer::Create({.signal_timeout_ns = 10 * base::kNsPerSecond},
                                   stack::CreateTableUnwinder().value())
          .value();
  testing::RecordingSink sink_;
  std::unique_ptr<Watchdog> watchdog_;
};

TEST_F(CpuWatchTest, TellsAThreadThatSpinsByNameAndStack) {
  options_.cpu.percent = 20;
  Start();
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  ASSERT_TRUE(WaitFor(HangKind::kCpu));
  const RecordedHang report = Of(HangKind::kCpu)[0];
  EXPECT_EQ(report.loop, "");
  EXPECT_EQ(report.elapsed_ns, 0);
  EXPECT_EQ(report.innermost_function, reinterpret_cast<uint64_t>(&testing::Spin));
  EXPECT_EQ(report.texts.at("busiest_1_name"), "spinner");
  EXPECT_EQ(report.facts.at("busiest_1_tid"), spinner.tid());
  EXPECT_GE(report.facts.at("busiest_1_percent"), 20);
  EXPECT_GT(report.facts.at("process_percent"), 0);
  EXPECT_EQ(report.facts.at("limit_percent"), 20);
  EXPECT_TRUE(report.texts.at("limit_of") == "thread" ||
              report.facts.at("process_percent") >= 20 * CountUsableCores(base::Process::Own()));
  EXPECT_EQ(report.facts.at("cores"), CountUsableCores(base::Process::Own()));
  EXPECT_EQ(report.facts.at("foreground"), 1);
  EXPECT_GT(report.cpu_thread_ns, 0);
  EXPECT_GE(report.threads, 1u);
  EXPECT_LE(report.threads, 3u);
  EXPECT_EQ(watchdog_->counters().hangs.value(), 0u);
}

TEST_F(CpuWatchTest, TellsASpellOnce) {
  options_.cpu.percent = 1;
  options_.cpu.window_ns = 3600 * base::kNsPerSecond;
  Start();
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  ASSERT_TRUE(WaitFor(HangKind::kCpu));
  const int rounds = sink_.rounds();
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > rounds + 5; }));
  EXPECT_EQ(Of(HangKind::kCpu).size(), 1u);
}

TEST_F(CpuWatchTest, TellsNoMoreThanTheThreeBusiestThreads) {
  options_.cpu.percent = 1;
  Start();
  std::vector<std::unique_ptr<StalledThread>> spinners;
  for (int i = 0; i < 5; ++i)
    spinners.push_back(
        std::make_unique<StalledThread>([](const StopFlag& stop) { SpinAs("one of five", stop); }));
  ASSERT_TRUE(WaitFor(HangKind::kCpu));
  EXPECT_LE(Of(HangKind::kCpu)[0].threads, 3u);
  EXPECT_EQ(Of(HangKind::kCpu)[0].facts.count("busiest_4_tid"), 0u);
}

TEST_F(CpuWatchTest, TellsTheAverageWithStacksThatAccountForTheTime) {
  options_.cpu.average_percent = 5;
  Start();
  const int64_t begin_ns = base::SystemClock().MonoNs();
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  ASSERT_TRUE(WaitFor(HangKind::kCpuAverage));
  EXPECT_GE(base::SystemClock().MonoNs() - begin_ns, options_.cpu.window_ns / 2);
  const RecordedHang report = Of(HangKind::kCpuAverage)[0];
  EXPECT_GE(report.cpu_window_ns, options_.cpu.window_ns);
  EXPECT_EQ(report.innermost_function, reinterpret_cast<uint64_t>(&testing::Spin));
  EXPECT_EQ(report.facts.at("limit_percent"), 5);
  EXPECT_EQ(report.texts.at("busiest_1_name"), "spinner");
  EXPECT_GT(report.samples_cpu_ns, 0);
  const int64_t process_cpu_ns = (report.facts.at("process_percent") + 1) * report.cpu_window_ns / 100;
  EXPECT_LE(report.samples_cpu_ns, process_cpu_ns * 12 / 10);
  EXPECT_TRUE(Of(HangKind::kCpu).empty());
}

// One turn of a thread that sleeps most of the time.
[[gnu::noinline]] void Burn(int64_t rounds) {
  for (int64_t i = 0; i < rounds; ++i) asm volatile("" ::"r"(i));
}

TEST_F(CpuWatchTest, DoesNotBlameWhereAThreadSleeps) {
  options_.cpu.average_percent = 1;
  options_.cpu.window_ns = 3 * base::kNsPerSecond;
  Start();
  const int64_t begin_ns = base::ThreadCpuNs(gettid());
  Burn(1'000'000);
  const int64_t rounds = 1'000'000 * 30 * kNsPerMs / (base::ThreadCpuNs(gettid()) - begin_ns);
  StalledThread worker([rounds](const StopFlag& stop) {
    while (!stop) {
      Burn(rounds);
      std::this_thread::sleep_for(milliseconds(70));
    }
  });
  // One that has just been woken is ready to run where it slept: on a busy machine it may be for long.
  EXPECT_TRUE(testing::WaitUntil([&] {
    return std::ranges::any_of(Of(HangKind::kCpuAverage), [](const RecordedHang& report) {
      return report.innermost_function == reinterpret_cast<uint64_t>(&Burn);
    });
  }));
  ASSERT_TRUE(WaitFor(HangKind::kCpuAverage));
  EXPECT_TRUE(Of(HangKind::kCpuAverage)[0].facts.contains("found_asleep_ms"));
}

TEST_F(CpuWatchTest, TellsTheAverageOnceAWindow) {
  options_.cpu.average_percent = 1;
  Start();
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  ASSERT_TRUE(WaitFor(HangKind::kCpuAverage));
  const int64_t begin_ns = base::SystemClock().MonoNs();
  ASSERT_TRUE(WaitFor(HangKind::kCpuAverage, 2));
  EXPECT_GE(base::SystemClock().MonoNs() - begin_ns, options_.cpu.window_ns / 2);
}

TEST_F(CpuWatchTest, InTheBackgroundLessIsTooMuch) {
  options_.cpu.background_percent = 1;
  Start();
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_TRUE(sink_.hangs().empty());
  const int64_t begin_ns = base::SystemClock().MonoNs();
  registry_->SetForeground(false);
  ASSERT_TRUE(WaitFor(HangKind::kCpuAverage));
  EXPECT_GE(base::SystemClock().MonoNs() - begin_ns, options_.cpu.window_ns);
  EXPECT_EQ(Of(HangKind::kCpuAverage)[0].facts.at("foreground"), 0);
  EXPECT_EQ(Of(HangKind::kCpuAverage)[0].facts.at("limit_percent"), 1);
}

TEST_F(CpuWatchTest, LooksOnceAWindowWhileTheProcessIsIdle) {
  options_.cpu.percent = 1;
  options_.cpu.window_ns = 3600 * base::kNsPerSecond;
  Start();
  auto rounds_in = [&](milliseconds duration) {
    const int before = sink_.rounds();
    std::this_thread::sleep_for(duration);
    return sink_.rounds() - before;
  };
  ASSERT_TRUE(testing::WaitUntil([&] { return rounds_in(milliseconds(500)) == 0; }));
  EXPECT_EQ(rounds_in(milliseconds(1500)), 0);
}

TEST_F(CpuWatchTest, FindsAnIdleProcessesFirstWorkAtTheNextWindow) {
  options_.cpu.percent = 1;
  options_.cpu.window_ns = base::kNsPerSecond;
  Start();
  std::this_thread::sleep_for(milliseconds(500));
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  EXPECT_TRUE(WaitFor(HangKind::kCpu));
}

TEST_F(CpuWatchTest, DoesNothingUnlessAskedTo) {
  options_.cpu.is_watched = false;
  options_.cpu.percent = options_.cpu.average_percent = 1;
  Start();
  StalledThread spinner([](const StopFlag& stop) { SpinAs("spinner", stop); });
  std::this_thread::sleep_for(milliseconds(2000));
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_EQ(watchdog_->counters().samples.value(), 0u);
}

// It works for a third of the time at most: over the floor, and below half of what would be too much.
void WorkLittle(const StopFlag& stop) {
  while (!stop) {
    UseCpu(milliseconds(3));
    std::this_thread::sleep_for(milliseconds(7));
  }
}

TEST_F(CpuWatchTest, CapturesStacksOnlyWhenAReportIsNear) {
  options_.cpu.percent = 100;
  options_.cpu.average_percent = 100;
  options_.cpu.background_percent = 1;
  Start();
  StalledThread worker(WorkLittle);
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(watchdog_->counters().samples.value(), 0u);
  registry_->SetForeground(false);
  EXPECT_TRUE(testing::WaitUntil([&] { return watchdog_->counters().samples.value() != 0; }));
}

}  // namespace
}  // namespace lagwatch::watchdog
