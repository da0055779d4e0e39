// SPDX-License-Identifier: Apache-2.0
// The process that watches one other process and reports its hangs: a fault that a target brings about harms
// no other's watcher. Context: background.
#pragma once

#include <lagwatch/options.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "sdk/outside/outside_watch.h"
#include "tools/watch/report_quota.h"
#include "tools/watch/targets.h"

namespace lagwatch::tools {

struct WatchSettings {
  Options options;
  std::string threads = "auto";
  uint32_t interval_ms = 100;
  bool takes_probable = false;
  std::shared_ptr<ReportQuota> quota;  // null: none
  bool is_chosen = false;              // the program was named: see sdk::OutsideOptions

  // The time between two looks: there are five within the threshold at least.
  int64_t IntervalNs() const;
};

// Exit codes of a watcher.
enum WatcherExit : int {
  kWatcherEnded = 0,
  kWatcherBecameOther = 3,  // the target runs another program now
  kWatcherCannot = 4,
  kWatcherCalm = 5,  // nothing was suspicious for a while
};

struct WatcherTask {
  const Target* target = nullptr;
  const WatchSettings* settings = nullptr;
  ReportCount* reports = nullptr;            // null: there is no quota
  std::unique_ptr<sdk::OutsideWatch> watch;  // has looked so far
  bool ends_when_calm = false;
};

// Starts one. Returns its process id; -1 if it cannot be started. The caller has no other threads that the
// child would need.
pid_t StartWatcher(WatcherTask* task);

// Lets SIGINT, SIGTERM and SIGHUP ask this process and its watchers to end; where it `can_reload`, SIGHUP
// asks it to read its settings again.
void HandleWatchSignals(bool can_reload);
bool IsAskedToEnd();
// Whether SIGHUP has come since the last call.
bool TakeReloadRequest();
// Until a signal comes.
void SleepNs(int64_t ns);

// Something that is done at once, and then each time after an interval.
class Regularly {
 public:
  explicit Regularly(int64_t interval_ns) : interval_ns_(interval_ns) {}

  // If so, the next one is due an interval later.
  bool IsDue();
  int64_t UntilDueNs() const;

 private:
  int64_t interval_ns_;
  int64_t due_ns_ = 0;  // CLOCK_MONOTONIC
};

// Raises this process's limit of file descriptors as far as it may: files of each thread that is looked at
// are kept open.
void UseManyDescriptors();

}  // namespace lagwatch::tools
