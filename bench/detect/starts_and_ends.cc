// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "bench/detect/scenarios.h"
#include "tests/testing/process.h"

namespace lagwatch::bench {
namespace {

class Victim {
 public:
  explicit Victim(const testing::ScopedTempDirectory& spool, const char* mode)
      : process_({"/proc/" + std::to_string(getpid()) + "/exe", "--victim", spool.path(), mode}) {}

  bool Await(const std::string& word) {
    return testing::WaitUntil([&] { return process_.Output().find(word) != std::string::npos; });
  }
  void Kill() {
    process_.Signal(SIGKILL);
    static_cast<void>(process_.Wait());
  }
  std::string OutputAtEnd() {
    static_cast<void>(process_.Wait());
    return process_.Output();
  }

 private:
  testing::Process process_;
};

bool EndedAs(const testing::ScopedTempDirectory& spool, lw_exit_reason reason) {
  return Victim(spool, "tell").OutputAtEnd() == "reason " + std::to_string(reason) + "\n";
}

void KilledInAHang(Stage* stage) {
  testing::ScopedTempDirectory spool;
  Victim victim(spool, "lag");
  stage->Require(victim.Await("lagging"));
  victim.Kill();
  stage->Require(EndedAs(spool, LW_EXIT_KILLED_IN_HANG));
}

void KilledWhenWell(Stage* stage) {
  testing::ScopedTempDirectory spool;
  Victim victim(spool, "well");
  stage->Require(victim.Await("well"));
  victim.Kill();
  stage->Forbid(!EndedAs(spool, LW_EXIT_UNKNOWN));
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

void ExitInAHang(Stage* stage) {
  testing::ScopedTempDirectory spool;
  stage->Require(Victim(spool, "exit").OutputAtEnd() == "lagging\n");
  stage->Forbid(!EndedAs(spool, LW_EXIT_CLEAN));
}

constexpr Scenario kScenarios[] = {
    {"slow_start", "start, hang in it", &SlowStart},
    {"start_in_time", "nothing", &StartInTime},
    {"killed_in_hang", "killed in a hang", &KilledInAHang},
    {"killed_when_well", "not killed in a hang", &KilledWhenWell},
    {"exit_in_hang", "a clean exit", &ExitInAHang},
};

}  // namespace

std::span<const Scenario> StartsAndEnds() { return kScenarios; }

int PlayVictim(const std::string& spool, const std::string& mode) {
  auto print_reason = [](const lw_last_exit* last_exit, void*) {
    std::cout << "reason " << last_exit->reason << std::endl;
  };
  auto print_hang = [](void*, const lw_hang*) { std::cout << "lagging" << std::endl; };
  Options options{
      .app = "victim",
      .spool_directory = spool,
      .threshold_ms = kThresholdMs,
      .detection = {
          .check_period_ms = kTickMs, .sample_interval_ms = kSampleMs, .ring_size = kTickMs / kSampleMs}};
  options.listener.hang_begin = print_hang;
  const bool is_start = mode == "slow_start" || mode == "start_in_time";
  if (is_start) options.start.kind = LW_START_COLD;
  if (mode == "slow_start") options.start.cold_ms = kThresholdMs;
  if (mode == "tell") options.process.on_last_exit = print_reason;
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
