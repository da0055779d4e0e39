// SPDX-License-Identifier: Apache-2.0
#include <lagwatch/queue_ping.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "bench/detect/scenarios.h"
#include "tests/testing/process.h"

namespace lagwatch::bench {
namespace {

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
  stage->Start([](Options* options) { options->detection.slow_frame_ms = kDeadlineMs; });
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
  stage->Start([](Options* options) { options->detection.slow_frame_ms = kDeadlineMs; });
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
  stage->Start([](Options* options) { options->dump.interval_ms = 0; });
  stage->Require(lw_dump_now("asked") == 1);
  stage->Require(testing::WaitUntil([&] { return stage->ReportsOfKind("dump") == 1; }));
}

void DumpBySignal(Stage* stage) {
  stage->Start([](Options* options) {
    options->dump.interval_ms = 0;
    options->dump.signal = SIGUSR2;
  });
  raise(SIGUSR2);
  stage->Require(testing::WaitUntil([&] { return stage->ReportsOfKind("dump") == 1; }));
}

void WatchCpu(Options* options) {
  options->cpu.is_watched = true;
  options->cpu.window_ms = 1000;
}

void BusyThread(Stage* stage) {
  stage->Start([](Options* options) {
    WatchCpu(options);
    options->cpu.average_percent = 0;
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
    options->cpu.percent = 0;
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

constexpr Scenario kScenarios[] = {
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
};

}  // namespace

std::span<const Scenario> OtherKinds() { return kScenarios; }

}  // namespace lagwatch::bench
