// SPDX-License-Identifier: Apache-2.0
#include "bench/detect_scenarios.h"

#include <lagwatch/queue_ping.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include "base/proc_file.h"
#include "tests/testing/process.h"

namespace lagwatch::bench {
namespace {

constexpr int64_t kHourNs = 3600'000 * kMs;

void SleepOver() { SleepMs(kThresholdMs + kTickMs); }

// The loop "main" goes on with short dispatches for so long.
void RunLoop(Stage* stage, int64_t ms) {
  for (int64_t end_ns = NowNs() + ms * kMs; NowNs() < end_ns;) {
    stage->ShortDispatch(
        "short", [] { SleepMs(5); }, kThresholdMs / 2);
    SleepMs(1);
  }
}

// A dispatch that is a lag, and one that tells of it what it should.
void Lag(Stage* stage, const std::function<void()>& work) {
  int64_t begin_ns = stage->Dispatch("long", work);
  stage->Expect(LW_KIND_LAG, begin_ns + kThresholdNs, "long");
}

uint64_t ReportsWritten() {
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  return stats.reports_written;
}

// --- dispatches

void SleepingDispatch(Stage* stage) {
  stage->Start();
  Lag(stage, SleepOver);
}

void SpinningDispatch(Stage* stage) {
  stage->Start();
  Lag(stage, [] { SpinMs(kThresholdMs + kTickMs); });
}

void LockedDispatch(Stage* stage) {
  stage->Start();
  std::mutex mutex;
  std::atomic<bool> is_locked{false};
  std::thread owner([&] {
    std::lock_guard lock(mutex);
    is_locked = true;
    SleepMs(kThresholdMs + 2 * kTickMs);
  });
  while (!is_locked) std::this_thread::yield();
  Lag(stage, [&] { std::lock_guard lock(mutex); });
  owner.join();
}

void CountedDispatch(Stage* stage) {
  stage->Start();
  RunLoop(stage, kTickMs);
  int64_t begin_ns = NowNs();
  lw_dispatch_begin_counted(stage->loop().handle(), "long");
  SleepMs(kThresholdMs + 2 * kTickMs);
  lw_dispatch_end_counted(stage->loop().handle());
  stage->Expect(LW_KIND_LAG, begin_ns + kThresholdNs, "long");
}

void AfterAnIdleSpell(Stage* stage) {
  stage->Start();
  SleepMs(6 * kTickMs);  // the watchdog sleeps for good
  Lag(stage, SleepOver);
}

void Anr(Stage* stage) {
  stage->Start([](Options* options) { options->anr_threshold_ms = 2 * kThresholdMs; });
  int64_t begin_ns = stage->Dispatch("long", [] { SleepMs(3 * kThresholdMs); });
  stage->Expect(LW_KIND_LAG, begin_ns + kThresholdNs, "long");
  stage->Expect(LW_KIND_LAG, begin_ns + 2 * kThresholdNs, "long", "main", LW_LEVEL_ANR);
}

void JustBelow(Stage* stage) {
  stage->Start();
  for (int i = 0; i < 3; ++i) stage->ShortDispatch("short", [] { SleepMs(kThresholdMs - 50); });
}

void OwnThreshold(Stage* stage) {
  stage->Start();
  stage->loop().SetThresholds(16, 0);
  SleepMs(kTickMs + 20);
  int64_t begin_ns = stage->Dispatch("long", [] { SleepMs(kTickMs); });
  stage->Expect(LW_KIND_LAG, begin_ns + 16 * kMs, "long");
  stage->loop().SetThresholds(kThresholdMs, 0);
}

void RaisedThreshold(Stage* stage) {
  stage->Start();
  stage->loop().SetThresholds(4 * kThresholdMs, 0);
  stage->ShortDispatch("short", SleepOver, 3 * kThresholdMs);
  SleepMs(kTickMs);
  stage->loop().SetThresholds(kThresholdMs, 0);
}

void LoweredThreshold(Stage* stage) {
  stage->Start();
  stage->loop().SetThresholds(10 * kThresholdMs, 0);
  SleepMs(kTickMs);
  int64_t lowered_ns = 0;
  stage->Dispatch("long", [&] {
    SleepMs(kThresholdMs + kTickMs);
    lowered_ns = NowNs();
    stage->loop().SetThresholds(kThresholdMs, 0);
    SleepMs(2 * kTickMs);
  });
  stage->Expect(LW_KIND_LAG, lowered_ns, "long");
}

void NestedDispatch(Stage* stage) {
  stage->Start();
  Lag(stage, [&] {
    SleepMs(20);
    for (int i = 0; i < 4; ++i) {
      ScopedDispatch inner(stage->loop(), "inner");
      SleepMs(kThresholdMs / 3);
    }
  });
}

void TwoLoops(Stage* stage) {
  stage->Start();
  int64_t other_begin_ns = 0;
  std::thread other([&] {
    Loop loop(lw_watch_loop("other"));
    other_begin_ns = NowNs();
    ScopedDispatch dispatch(loop, "as long");
    SleepOver();
  });
  Lag(stage, SleepOver);
  other.join();
  stage->Expect(LW_KIND_LAG, other_begin_ns + kThresholdNs, "as long", "other");
}

void OtherLoopIsWell(Stage* stage) {
  stage->Start();
  int64_t other_begin_ns = 0;
  std::thread other([&] {
    Loop loop(lw_watch_loop("other"));
    other_begin_ns = NowNs();
    ScopedDispatch dispatch(loop, "long");
    SleepOver();
  });
  RunLoop(stage, kThresholdMs + kTickMs);
  other.join();
  stage->Expect(LW_KIND_LAG, other_begin_ns + kThresholdNs, "long", "other");
}

// Each is over when it is looked at, or nearly; the next one begins at once.
void OverWhileCaptured(Stage* stage) {
  stage->Start();
  std::minstd_rand random(static_cast<unsigned>(NowNs()));
  static constexpr std::array kTags = {"0", "1", "2", "3", "4"};
  for (const char* tag : kTags) {
    int64_t us = (kThresholdMs - 1) * 1000 + static_cast<int64_t>(random() % 3000);
    int64_t begin_ns = stage->Dispatch(tag, [&] { usleep(static_cast<useconds_t>(us)); });
    stage->Allow(LW_KIND_LAG, begin_ns + kThresholdNs, tag);
    stage->ShortDispatch(
        "next", [] { SpinMs(15); }, kThresholdMs / 2);
  }
}

void OneLongFreeze(Stage* stage) {
  stage->Start();
  uint64_t reports = ReportsWritten();
  Lag(stage, [] { SleepMs(8 * kThresholdMs); });
  stage->Require(ReportsWritten() == reports + 1);
}

[[gnu::noinline]] void OneWay() {
  SleepMs(3 * kTickMs);
  asm volatile("");
}
[[gnu::noinline]] void AnotherWay() {
  SleepMs(10 * kTickMs);
  asm volatile("");
}

void TwoStacks(Stage* stage) {
  stage->Start();
  uint64_t reports = ReportsWritten();
  Lag(stage, [] {
    OneWay();
    AnotherWay();
  });
  stage->Require(ReportsWritten() == reports + 2);
}

void Idle(Stage* stage) {
  stage->Start();
  SleepMs(2 * kThresholdMs);
}

// --- other kinds

void BusyLoop(Stage* stage) {
  stage->Start();
  SleepMs(kTickMs);
  int64_t begin_ns = NowNs();
  for (int64_t end_ns = begin_ns + 2 * kThresholdNs; NowNs() < end_ns;) {
    ScopedDispatch dispatch(stage->loop(), "short");
    SpinMs(2);
  }
  stage->Expect(LW_KIND_BUSY_LOOP, begin_ns + kThresholdNs);
}

void BusyWithPauses(Stage* stage) {
  stage->Start();
  for (int64_t end_ns = NowNs() + 2 * kThresholdNs; NowNs() < end_ns;) {
    stage->ShortDispatch(
        "short", [] { SpinMs(20); }, kThresholdMs / 2);
    SleepMs(1);
  }
}

void WaitedTask(Stage* stage) {
  stage->Start();
  RunLoop(stage, kTickMs);
  int64_t begin_ns = NowNs();
  stage->loop().NoteQueued();
  RunLoop(stage, 2 * kThresholdMs);
  stage->loop().NoteRun();
  stage->Expect(LW_KIND_WAITED, begin_ns + kThresholdNs);
  RunLoop(stage, kThresholdMs);
}

void TasksInTime(Stage* stage) {
  stage->Start();
  for (int i = 0; i < 40; ++i) {
    stage->loop().NoteQueued();
    if (i >= 4) stage->loop().NoteRun();  // there are always some
    RunLoop(stage, 15);
  }
  for (int i = 0; i < 4; ++i) stage->loop().NoteRun();
}

// An executor of which the library knows nothing.
class Executor {
 public:
  void Post(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  void RunAll() {
    std::lock_guard lock(mutex_);
    for (auto& task : tasks_) task();
    tasks_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
};

void PingThatWaits(Stage* stage) {
  stage->Start();
  Executor executor;
  int64_t begin_ns = NowNs();
  QueuePing ping(
      stage->loop(), [&](std::function<void()> task) { executor.Post(std::move(task)); },
      std::chrono::milliseconds(kTickMs));
  RunLoop(stage, 2 * kThresholdMs);
  executor.RunAll();
  stage->Expect(LW_KIND_WAITED, begin_ns + kThresholdNs);
}

void IdleHandler(Stage* stage) {
  stage->Start();
  RunLoop(stage, kTickMs);
  int64_t begin_ns = NowNs();
  {
    ScopedIdleHandler idle(stage->loop());
    SleepOver();
  }
  stage->Expect(LW_KIND_IDLE_HANDLER, begin_ns + kThresholdNs);
}

void InputEvent(Stage* stage) {
  stage->Start();
  RunLoop(stage, kTickMs);
  int64_t begin_ns = NowNs();
  stage->loop().InputReceived();
  RunLoop(stage, 2 * kThresholdMs);
  stage->loop().InputFinished();
  stage->Expect(LW_KIND_INPUT, begin_ns + kThresholdNs);
  RunLoop(stage, kThresholdMs);
}

void InputInTime(Stage* stage) {
  stage->Start();
  for (int i = 0; i < 20; ++i) {
    stage->loop().InputReceived();
    RunLoop(stage, 30);
    stage->loop().InputFinished();
  }
}

constexpr int64_t kDeadlineMs = 60;

// The first scope with a new deadline may be found late.
void WarmUpScopes(Stage* stage) {
  { ScopedDeadline warm_up(stage->loop(), "in time", kDeadlineMs); }
  SleepMs(kTickMs + 20);
}

void Scope(Stage* stage) {
  stage->Start();
  WarmUpScopes(stage);
  int64_t begin_ns = NowNs();
  {
    ScopedDeadline scope(stage->loop(), "save", kDeadlineMs);
    SleepMs(kDeadlineMs + kTickMs);
  }
  stage->Expect(LW_KIND_SCOPE, begin_ns + kDeadlineMs * kMs, "save");
}

void ScopeInTime(Stage* stage) {
  stage->Start();
  WarmUpScopes(stage);
  for (int i = 0; i < 10; ++i) {
    int64_t begin_ns = NowNs();
    {
      ScopedDeadline scope(stage->loop(), "save", kDeadlineMs);
      SleepMs(kDeadlineMs / 2);
    }
    if (NowNs() - begin_ns > (kDeadlineMs - 5) * kMs) stage->Disturbed();
  }
}

void InnerScope(Stage* stage) {
  stage->Start();
  WarmUpScopes(stage);
  ScopedDeadline outer(stage->loop(), "outer", 10 * kThresholdMs);
  int64_t begin_ns = NowNs();
  {
    ScopedDeadline inner(stage->loop(), "inner", kDeadlineMs);
    SleepMs(kDeadlineMs + kTickMs);
  }
  stage->Expect(LW_KIND_SCOPE, begin_ns + kDeadlineMs * kMs, "inner");
}

void OuterScope(Stage* stage) {
  stage->Start();
  WarmUpScopes(stage);
  int64_t begin_ns = NowNs();
  {
    ScopedDeadline outer(stage->loop(), "outer", kThresholdMs);
    for (int i = 0; i < 15; ++i) {
      ScopedDeadline inner(stage->loop(), "inner", kThresholdMs);
      SleepMs(20);
    }
  }
  stage->Expect(LW_KIND_SCOPE, begin_ns + kThresholdNs, "outer");
}

void SlowFrame(Stage* stage) {
  stage->Start([](Options* options) { options->slow_frame_ms = kDeadlineMs; });
  for (int i = 0; i < 5; ++i) {
    ScopedFrame frame(stage->loop());
    SleepMs(10);
  }
  int64_t begin_ns = NowNs();
  {
    ScopedFrame frame(stage->loop());
    SleepMs(kDeadlineMs + kTickMs);
  }
  stage->Expect(LW_KIND_FRAME, begin_ns + kDeadlineMs * kMs);
}

void FramesInTime(Stage* stage) {
  stage->Start([](Options* options) { options->slow_frame_ms = kDeadlineMs; });
  for (int i = 0; i < 20; ++i) {
    int64_t begin_ns = NowNs();
    {
      ScopedFrame frame(stage->loop());
      SleepMs(kDeadlineMs / 3);
    }
    if (NowNs() - begin_ns > (kDeadlineMs - 5) * kMs) stage->Disturbed();
  }
}

void DumpOnDemand(Stage* stage) {
  stage->Start([](Options* options) { options->dump_interval_ms = 0; });
  stage->Require(lw_dump_now("asked") == 1);
  stage->Require(testing::WaitUntil([&] { return stage->ReportsOfKind("dump") == 1; }));
}

void DumpBySignal(Stage* stage) {
  stage->Start([](Options* options) {
    options->dump_interval_ms = 0;
    options->dump_signal = SIGUSR2;
  });
  raise(SIGUSR2);
  stage->Require(testing::WaitUntil([&] { return stage->ReportsOfKind("dump") == 1; }));
}

void WatchCpu(Options* options) {
  options->watch_cpu = true;
  options->cpu_window_ms = 1000;
}

void BusyThread(Stage* stage) {
  stage->Start([](Options* options) {
    WatchCpu(options);
    options->cpu_average_percent = 0;
  });
  std::atomic<bool> is_over{false};
  std::thread spinner([&] {
    while (!is_over) {
    }
  });
  stage->Require(testing::WaitUntil([&] { return stage->ReportsOfKind("cpu") == 1; }));
  is_over = true;
  spinner.join();
  stage->Forbid(stage->ReportsOfKind("cpu-average") != 0);
}

void BusyInTheBackground(Stage* stage) {
  lw_set_foreground(0);
  stage->Start([](Options* options) {
    WatchCpu(options);
    options->cpu_percent = 0;
  });
  std::atomic<bool> is_over{false};
  std::thread spinner([&] {
    while (!is_over) {
    }
  });
  stage->Require(testing::WaitUntil([&] { return stage->ReportsOfKind("cpu-average") >= 1; }));
  is_over = true;
  spinner.join();
  stage->Forbid(stage->ReportsOfKind("cpu") != 0);
  lw_set_foreground(1);
}

void ModestUseOfCpu(Stage* stage) {
  stage->Start(WatchCpu);
  for (int64_t end_ns = NowNs() + 1500 * kMs; NowNs() < end_ns;) {
    SpinMs(5);
    SleepMs(15);
  }
  stage->Forbid(stage->ReportsOfKind("cpu") + stage->ReportsOfKind("cpu-average") != 0);
}

// --- guards

void SignalTaken(Stage* stage) {
  stage->Start([](Options* options) { options->capture_signal = SIGUSR1; });
  struct sigaction previous {};
  struct sigaction theirs {};
  theirs.sa_handler = [](int) { std::abort(); };
  sigaction(SIGUSR1, &theirs, &previous);
  Lag(stage, [] { SpinMs(kThresholdMs + kTickMs); });
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  stage->Require(stats.handler_moved >= 1 && stats.stack_samples > 0);
  SleepMs(kTickMs);
  stage->Stop();
  sigaction(SIGUSR1, &previous, nullptr);
}

void StoppedWhileIdle(Stage* stage) {
  stage->Start();
  SleepMs(kTickMs);
  stage->LetParent("stop 500");
  RunLoop(stage, kTickMs);
}

void StoppedInADispatch(Stage* stage) {
  stage->Start();
  stage->Dispatch("short", [&] {
    SleepMs(30);
    stage->LetParent("stop 500");
    SleepMs(30);
  });
}

void StoppedInALag(Stage* stage) {
  stage->Start();
  Lag(stage, [&] {
    SleepMs(kThresholdMs + kTickMs / 2);  // between two checks, either of which may write a report
    stage->LetParent("stop 500");
    SleepMs(30);
  });
  SleepMs(kTickMs);
  std::vector<int64_t> ended_ns = stage->EndedNs();
  stage->Require(ended_ns.size() == 1 && ended_ns[0] < 2 * kThresholdNs + kTickNs);
}

void FrozenGroup(Stage* stage) {
  stage->Start();
  stage->Dispatch("short", [&] {
    SleepMs(30);
    stage->LetParent("freeze 500");
    SleepMs(30);
  });
}

void Debugger(Stage* stage) {
  stage->Start();
  stage->LetParent("trace");
  stage->Dispatch("long", SleepOver);
  stage->LetParent("untrace");
}

void AfterTheDebugger(Stage* stage) {
  stage->Start();
  stage->LetParent("trace");
  RunLoop(stage, 20);
  stage->LetParent("untrace");
  Lag(stage, SleepOver);
}

void Suspension(Stage* stage) {
  stage->Start();
  for (int i = 0; i < 3; ++i) {
    stage->ShortDispatch("short", [] {
      SleepMs(30);
      Stage::PretendSuspension(kHourNs);
      SleepMs(30);
    });
  }
}

void WallClockSteps(Stage* stage) {
  stage->Start();
  for (int64_t step_ns : {kHourNs, -kHourNs, int64_t{0}}) {
    stage->ShortDispatch("short", [&] {
      SleepMs(30);
      Stage::StepWallClock(step_ns);
      SleepMs(30);
    });
  }
}

void WallClockStepsInALag(Stage* stage) {
  stage->Start();
  Lag(stage, [] {
    SleepMs(30);
    Stage::StepWallClock(kHourNs);
    SleepMs(kThresholdMs);
    Stage::StepWallClock(0);
    SleepMs(kTickMs);
  });
}

// Puts all monitor threads of this process on one processor, behind everybody else there.
class StarvedMonitor {
 public:
  StarvedMonitor() : spinner_([this] { Spin(); }) {
    ForEachThread([](int tid) {
      sched_param none{};
      sched_setscheduler(tid, SCHED_IDLE, &none);
      SetProcessor(tid);
    });
  }
  ~StarvedMonitor() {
    is_over_ = true;
    spinner_.join();
  }

 private:
  template <typename Visit>
  static void ForEachThread(Visit visit) {
    base::ForEachThread([&](int tid) {
      std::string name;
      std::ifstream("/proc/self/task/" + std::to_string(tid) + "/comm") >> name;
      if (name.starts_with("lagwatch")) visit(tid);
      return true;
    });
  }
  static void SetProcessor(int tid) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(tid, sizeof first, &first);
  }
  void Spin() {
    SetProcessor(0);
    while (!is_over_) {
    }
  }

  std::atomic<bool> is_over_{false};
  std::thread spinner_;
};

void LateWatchdog(Stage* stage) {
  stage->Start();
  StarvedMonitor starved;
  for (int i = 0; i < 10; ++i) stage->ShortDispatch("short", [] { SleepMs(60); });
}

void ForkInALag(Stage* stage) {
  stage->Start();
  Lag(stage, [] {
    pid_t child = fork();
    if (child == 0) {  // has neither the monitor nor the lag
      SleepMs(kThresholdMs + 2 * kTickMs);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
}

void ThreadExits(Stage* stage) {
  stage->Start();
  for (int i = 0; i < 5; ++i) {
    std::thread([] {
      Loop loop(lw_watch_loop("short-lived"));
      lw_dispatch_begin(loop.handle(), "never ended");
      SleepMs(30);
    }).join();
  }
  SleepMs(kThresholdMs + kTickMs);
}

// --- ends of the program

class Victim {
 public:
  explicit Victim(const testing::ScopedTempDirectory& spool, const char* mode)
      : process_({"/proc/" + std::to_string(getpid()) + "/exe", "--victim", spool.path(), mode}) {}

  bool Await(const std::string& word) {
    return testing::WaitUntil([&] { return process_.Output().find(word) != std::string::npos; });
  }
  void Kill() {
    process_.Signal(SIGKILL);
    process_.Wait();
  }
  std::string OutputAtEnd() {
    process_.Wait();
    return process_.Output();
  }

 private:
  testing::Process process_;
};

bool ToldAs(const testing::ScopedTempDirectory& spool, lw_exit_reason reason) {
  return Victim(spool, "tell").OutputAtEnd() == "reason " + std::to_string(reason) + "\n";
}

void KilledInALag(Stage* stage) {
  testing::ScopedTempDirectory spool;
  Victim victim(spool, "lag");
  stage->Require(victim.Await("lagging"));
  victim.Kill();
  stage->Require(ToldAs(spool, LW_EXIT_KILLED_IN_LAG));
}

void KilledWhenWell(Stage* stage) {
  testing::ScopedTempDirectory spool;
  Victim victim(spool, "well");
  stage->Require(victim.Await("well"));
  victim.Kill();
  stage->Forbid(!ToldAs(spool, LW_EXIT_UNKNOWN));
}

void SlowStart(Stage* stage) {
  testing::ScopedTempDirectory spool;
  Victim(spool, "slow_start").OutputAtEnd();
  stage->Require(Stage::ReportsIn(spool.path(), "startup") == 1);
  stage->Forbid(Stage::ReportsIn(spool.path(), "lag") != 0);
  stage->Require(Stage::ReportsIn(spool.path(), "startup-lag") == 1);
}

void StartInTime(Stage* stage) {
  testing::ScopedTempDirectory spool;
  Victim(spool, "start_in_time").OutputAtEnd();
  stage->Forbid(Stage::ReportsIn(spool.path(), "startup") != 0);
}

void ExitInALag(Stage* stage) {
  testing::ScopedTempDirectory spool;
  stage->Require(Victim(spool, "exit").OutputAtEnd() == "lagging\n");
  stage->Forbid(!ToldAs(spool, LW_EXIT_CLEAN));
}

constexpr Scenario kScenarios[] = {
    {"sleeping_dispatch", "lag", &SleepingDispatch},
    {"spinning_dispatch", "lag", &SpinningDispatch},
    {"locked_dispatch", "lag", &LockedDispatch},
    {"counted_dispatch", "lag", &CountedDispatch},
    {"after_idle_spell", "lag", &AfterAnIdleSpell},
    {"anr", "lag, then ANR", &Anr},
    {"just_below", "nothing", &JustBelow},
    {"own_threshold", "lag at 16 ms", &OwnThreshold},
    {"raised_threshold", "nothing", &RaisedThreshold},
    {"lowered_threshold", "lag once lowered", &LoweredThreshold},
    {"nested_dispatch", "one lag", &NestedDispatch},
    {"two_loops", "two lags", &TwoLoops},
    {"other_loop_is_well", "lag of the other", &OtherLoopIsWell},
    {"over_while_captured", "never of the next", &OverWhileCaptured},
    {"one_long_freeze", "lag, one report", &OneLongFreeze},
    {"two_stacks", "lag, two reports", &TwoStacks},
    {"idle", "nothing", &Idle},
    {"busy_loop", "busy loop", &BusyLoop},
    {"busy_with_pauses", "nothing", &BusyWithPauses},
    {"waited_task", "waited", &WaitedTask},
    {"tasks_in_time", "nothing", &TasksInTime},
    {"ping_that_waits", "waited", &PingThatWaits},
    {"idle_handler", "idle handler", &IdleHandler},
    {"input_event", "input", &InputEvent},
    {"input_in_time", "nothing", &InputInTime},
    {"scope", "scope", &Scope},
    {"scope_in_time", "nothing", &ScopeInTime},
    {"inner_scope", "the inner scope", &InnerScope},
    {"outer_scope", "the outer scope", &OuterScope},
    {"slow_frame", "frame", &SlowFrame},
    {"frames_in_time", "nothing", &FramesInTime},
    {"dump_on_demand", "dump", &DumpOnDemand},
    {"dump_by_signal", "dump", &DumpBySignal},
    {"busy_thread", "CPU", &BusyThread},
    {"busy_in_background", "average CPU", &BusyInTheBackground},
    {"modest_use_of_cpu", "nothing", &ModestUseOfCpu},
    {"slow_start", "start, lag in it", &SlowStart},
    {"start_in_time", "nothing", &StartInTime},
    {"signal_taken", "lag, captured", &SignalTaken},
    {"stopped_while_idle", "nothing", &StoppedWhileIdle},
    {"stopped_in_dispatch", "nothing", &StoppedInADispatch},
    {"stopped_in_lag", "lag, without the stop", &StoppedInALag},
    {"frozen_group", "nothing", &FrozenGroup},
    {"debugger", "nothing", &Debugger},
    {"after_debugger", "lag", &AfterTheDebugger},
    {"suspension", "nothing", &Suspension},
    {"wall_clock_steps", "nothing", &WallClockSteps},
    {"clock_steps_in_lag", "lag", &WallClockStepsInALag},
    {"late_watchdog", "nothing", &LateWatchdog},
    {"fork_in_lag", "one lag", &ForkInALag},
    {"thread_exits", "nothing", &ThreadExits},
    {"killed_in_lag", "killed in a lag", &KilledInALag},
    {"killed_when_well", "not killed in a lag", &KilledWhenWell},
    {"exit_in_lag", "a clean exit", &ExitInALag},
};

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

int PlayVictim(const std::string& spool, const std::string& mode) {
  auto tell_reason = [](const lw_last_exit* last_exit, void*) {
    std::cout << "reason " << last_exit->reason << std::endl;
  };
  auto tell_lag = [](void*, const lw_lag*) { std::cout << "lagging" << std::endl; };
  Options options{.app = "victim",
                  .spool_directory = spool,
                  .threshold_ms = kThresholdMs,
                  .check_period_ms = kTickMs,
                  .sample_interval_ms = kSampleMs,
                  .ring_size = kTickMs / kSampleMs};
  options.listener.lag_begin = tell_lag;
  const bool is_start = mode == "slow_start" || mode == "start_in_time";
  if (is_start) options.start = LW_START_COLD;
  if (mode == "slow_start") options.cold_start_ms = kThresholdMs;
  if (mode == "tell") options.on_last_exit = tell_reason;
  Monitor monitor = Monitor::Start(options);
  if (mode == "tell") return 0;
  Loop loop = monitor.WatchLoop("main");
  if (is_start) {
    if (mode == "slow_start") {
      ScopedDispatch dispatch(loop, "load");
      SleepOver();
    }
    lw_ready();
    SleepMs(kTickMs);
    return 0;
  }
  if (mode == "lag") {
    ScopedDispatch dispatch(loop, "for ever");
    pause();
  }
  if (mode == "exit") {
    ScopedDispatch dispatch(loop, "long");
    SleepMs(kThresholdMs + 2 * kTickMs);
    std::exit(0);
  }
  { ScopedDispatch dispatch(loop, "short"); }
  SleepMs(kTickMs);
  std::cout << "well" << std::endl;
  pause();
  return 0;
}

}  // namespace lagwatch::bench
