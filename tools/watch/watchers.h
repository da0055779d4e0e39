// SPDX-License-Identifier: Apache-2.0
// The processes that watch other ones from outside, one for each: a fault that one target brings about harms
// no other's watcher. Context: background.
#pragma once

#include <lagwatch/options.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sdk/outside/kernel_waits.h"
#include "sdk/outside/unanswered_windows.h"
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
};

// Thread safety: one thread's.
class Watchers {
 public:
  // At most `most` processes are watched. A quiet one prints errors only.
  Watchers(uint32_t most, bool is_quiet) : most_(most), is_quiet_(is_quiet) {}

  void set_most(uint32_t most) { most_ = most; }
  // From now on watchers go by what the kernel records of loops (`--bpf`), too. Errors: what is missing for
  // it.
  base::Status AskKernel();
  // Says how returns of waits are counted here, if that has a price, or if they are not.
  void SayHowReturnsAreCounted() const;
  // From now on watchers go by what compositors say, too.
  void SetUnansweredWindows(std::shared_ptr<const sdk::UnansweredWindows> windows) {
    unanswered_ = std::move(windows);
  }
  // Has a process watch `target`, unless one does already, or it has a watchdog of its own, or its rule has
  // had its reports of the day.
  void Add(const Target& target, const WatchSettings& settings);
  // Ends the watching of a target that is no longer wanted, if there is any.
  void Remove(const Target& target);
  // Takes notice of those that have ended. Returns whether a target has become another program, which is to
  // be added again if it is wanted.
  bool Reap();
  // Those that are watched now.
  std::vector<Target> targets() const;
  size_t running_count() const;
  // Whether one could not watch its target.
  bool has_failed() const { return has_failed_; }
  // Waits until all have ended.
  void EndAll();

 private:
  struct Watched {
    Target target;
    pid_t watcher;  // 0: none, and there will be none
  };

  void Say(const Target& target, const char* text) const;
  void Start(const Target& target, const WatchSettings& settings);

  uint32_t most_;
  bool is_quiet_;
  std::vector<Watched> watched_;
  std::unique_ptr<sdk::KernelWaits> kernel_waits_;
  std::shared_ptr<const sdk::UnansweredWindows> unanswered_;
  bool has_failed_ = false;
  bool has_said_full_ = false;
};

// Lets SIGINT, SIGTERM and SIGHUP ask this process and its watchers to end; where it `can_reload`, SIGHUP
// asks it to read its settings again.
void HandleWatchSignals(bool can_reload);
bool IsAskedToEnd();
// Whether SIGHUP has come since the last call.
bool TakeReloadRequest();
// Until a signal comes.
void SleepNs(int64_t ns);

}  // namespace lagwatch::tools
