// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "base/process/proc_file.h"
#include "bench/detect/scenarios.h"

namespace lagwatch::bench {
namespace {

constexpr int64_t kHourNs = 3600'000 * kMs;

void SignalTaken(Stage* stage) {
  stage->Start([](Options* options) { options->process.capture_signal = SIGUSR1; });
  struct sigaction previous {};
  struct sigaction theirs {};
  theirs.sa_handler = [](int) { std::abort(); };
  sigaction(SIGUSR1, &theirs, &previous);
  Hang(stage, [] { SpinMs(kThresholdMs + kTickMs); });
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

void StoppedInAHang(Stage* stage) {
  stage->Start();
  Hang(stage, [&] {
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
  Hang(stage, SleepOver);
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

void WallClockStepsInAHang(Stage* stage) {
  stage->Start();
  Hang(stage, [] {
    SleepMs(30);
    Stage::StepWallClock(kHourNs);
    SleepMs(kThresholdMs);
    Stage::StepWallClock(0);
    SleepMs(kTickMs);
  });
}

// Puts all monitor threads of this process on one processor, behind all other threads there.
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
    base::ForEachThread(base::Process::Own(), [&](int tid) {
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

void ForkInAHang(Stage* stage) {
  stage->Start();
  Hang(stage, [] {
    pid_t child = fork();
    if (child == 0) {  // has neither the monitor nor the hang
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

constexpr Scenario kScenarios[] = {
    {"signal_taken", "hang, captured", &SignalTaken},
    {"stopped_while_idle", "nothing", &StoppedWhileIdle},
    {"stopped_in_dispatch", "nothing", &StoppedInADispatch},
    {"stopped_in_hang", "hang, without the stop", &StoppedInAHang},
    {"frozen_group", "nothing", &FrozenGroup},
    {"debugger", "nothing", &Debugger},
    {"after_debugger", "lag", &AfterTheDebugger},
    {"suspension", "nothing", &Suspension},
    {"wall_clock_steps", "nothing", &WallClockSteps},
    {"clock_steps_in_hang", "lag", &WallClockStepsInAHang},
    {"late_watchdog", "nothing", &LateWatchdog},
    {"fork_in_hang", "one hang", &ForkInAHang},
    {"thread_exits", "nothing", &ThreadExits},
};

}  // namespace

std::span<const Scenario> Discounts() { return kScenarios; }

}  // namespace lagwatch::bench
