// SPDX-License-Identifier: Apache-2.0
// Runs one scenario of `scripts/bench detect`: a process of its own with the real monitor, and a comparison
// of its reports with the expected ones.
#pragma once

#include <lagwatch/lagwatch.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {

constexpr int64_t kMs = 1'000'000;
// Scaled down by ten from what users have: 2 s, 1 s, 50 ms.
constexpr uint32_t kThresholdMs = 200;
constexpr uint32_t kTickMs = 100;  // the check period
constexpr uint32_t kSampleMs = 10;
constexpr int64_t kThresholdNs = kThresholdMs * kMs;
constexpr int64_t kTickNs = kTickMs * kMs;

int64_t NowNs();
void SleepMs(int64_t ms);
void SpinMs(int64_t ms);

// Of one run.
struct Outcome {
  int missed = 0;
  int false_positives = 0;
  int wrong_kind = 0;
  double late_ticks = 0;
  bool is_disturbed = false;  // the machine was too slow for what the scenario says: to be played again
};

class Stage {
 public:
  // Watches a loop "main" of this thread.
  Stage();
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Loop loop() const { return loop_; }
  // Starts and stops the monitor. `change` may alter the options.
  void Start(const std::function<void(Options*)>& change = {});
  void Stop();

  // One dispatch of the loop "main". Returns when it began.
  int64_t Dispatch(const char* tag, const std::function<void()>& work);
  // One that is to be shorter than `limit_ms`, or else the run is disturbed.
  void ShortDispatch(const char* tag, const std::function<void()>& work,
                     int64_t limit_ms = kThresholdMs - 20);
  void Disturbed() { outcome_.is_disturbed = true; }

  // Something that is to be found once, not before `due_ns` and one tick later at most.
  void Expect(lw_kind kind, int64_t due_ns, const char* tag = "", const char* loop = "main",
              lw_level level = LW_LEVEL_HANG);
  // The same, but it would be right too if nothing were found.
  void Allow(lw_kind kind, int64_t due_ns, const char* tag);
  // For findings that the listener does not report.
  void Require(bool is_found) { outcome_.missed += !is_found; }
  void Forbid(bool is_found) { outcome_.false_positives += is_found; }

  // The number of reports of that kind in the spool ("lag", "dump", …).
  int ReportsOfKind(const std::string& kind) const { return ReportsIn(spool_.path(), kind); }
  static int ReportsIn(const std::string& spool, const std::string& kind);

  // The durations of the hangs that are over by now, as the listener received them.
  std::vector<int64_t> EndedNs() const;
  size_t begun_count() const;

  // Waits until what was found is over and more would have been found; compares.
  Outcome Judge();

  // Lets the parent process do something to this one, and returns when that is over: "stop MS", "freeze MS"
  // (SIGSTOP; a frozen control group), "trace", "untrace" (by a debugger). False when it may not.
  bool LetParent(const std::string& action);

  // The offset of this process's clocks from the machine's.
  static void StepWallClock(int64_t ns);
  static void PretendSuspension(int64_t ns);

 private:
  struct Event {
    lw_kind kind;
    lw_level level;
    std::string loop;
    std::string tag;
    int64_t at_ns;  // found; or due
    bool is_optional = false;
  };

  static void OnBegin(void* stage, const lw_hang* hang);
  static void OnEnd(void* stage, const lw_hang* hang);

  Loop loop_;
  testing::ScopedTempDirectory spool_;
  std::optional<Monitor> monitor_;
  Outcome outcome_;
  std::vector<Event> expected_;
  mutable std::mutex mutex_;  // the rest
  std::vector<Event> begun_;
  std::vector<int64_t> ended_ns_;
};

// Longer than the threshold.
void SleepOver();
// The loop "main" goes on with short dispatches for so long.
void RunLoop(Stage* stage, int64_t ms);
// A dispatch that is a hang, and must be reported as one.
void Hang(Stage* stage, const std::function<void()>& work);

}  // namespace lagwatch::bench
