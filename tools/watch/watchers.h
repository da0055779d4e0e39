// SPDX-License-Identifier: Apache-2.0
// The programs that are watched from outside. Either each has a process that watches it from the beginning;
// or, for many programs, this process looks at all of them, and starts a watcher for one whose loop may hang
// (docs/design/outside.md). Context: background.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "sdk/outside/kernel_waits.h"
#include "sdk/outside/outside_watch.h"
#include "sdk/outside/unanswered_windows.h"
#include "tools/watch/report_quota.h"
#include "tools/watch/targets.h"
#include "tools/watch/watcher_process.h"

namespace lagwatch::tools {

enum class WatchStart : uint8_t {
  kAtOnce,       // a watcher for each target
  kWhenInDoubt,  // looks at targets, and starts a watcher when one needs it
};

// The price of counting returns of waits on this machine, or what is lost without; empty for neither. Tries
// each way, on the calling thread.
std::string NoteOnReturns();

// Thread safety: one thread's.
class Watchers {
 public:
  // At most `most` watchers run at a time. A quiet one prints errors only.
  Watchers(WatchStart start, uint32_t most, bool is_quiet)
      : start_(start), most_(most), is_quiet_(is_quiet) {}

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
  // From now on hangs of targets are logged by that (StartHangLogOfMany()).
  void SetLog(base::OwnedFd log) { log_ = std::move(log); }
  // From now on `target` is watched, unless it is already, or it has a watchdog of its own, or has had its
  // rule's reports of the day.
  void Add(const Target& target, std::shared_ptr<const WatchSettings> settings);
  // Ends the watching of a target that is no longer wanted, if there is any.
  void Remove(const Target& target);
  // Looks at the targets whose turn it is. Returns the time until the next one's, a second at most.
  int64_t LookNs();
  // Takes notice of watchers that have ended. Returns whether a target has become another program, which is
  // to be added again if it is wanted.
  bool Reap();
  // Whether the process is a target that lives: it need not be looked for.
  bool IsWatched(pid_t pid) const;
  std::vector<Target> targets() const;
  size_t running_count() const;
  // Whether one could not watch its target.
  bool has_failed() const { return has_failed_; }
  // Waits until all have ended.
  void EndAll();

 private:
  struct Watched {
    Target target;
    std::shared_ptr<const WatchSettings> settings;
    ReportQuota::Program program;
    std::shared_ptr<ReportCount> reports = nullptr;      // null: there is no quota
    pid_t watcher = 0;                                   // 0: none runs
    std::unique_ptr<sdk::OutsideWatch> looks = nullptr;  // null: it is not looked at here
    int64_t begin_ns = 0;                                // CLOCK_MONOTONIC
    int64_t interval_ns = 0;
    int64_t next_ns = 0;
  };

  void Say(const Target& target, const char* text) const;
  sdk::OutsideOptions OptionsOf(const WatchSettings& settings) const;
  // False if it cannot be watched.
  bool BeginLooks(Watched* watched);
  // False if the target has ended.
  bool LookAt(Watched* watched, int64_t now_ns);
  // Finds a place for a watcher: a user with more than their share gives one up.
  bool TakePlace(const Watched& watched);
  size_t CountOf(uid_t user) const;
  void Start(Watched* watched);
  static void EndWatcher(Watched* watched);

  WatchStart start_;
  uint32_t most_;
  bool is_quiet_;
  std::map<pid_t, Watched> watched_;
  std::unique_ptr<sdk::KernelWaits> kernel_waits_;
  std::shared_ptr<const sdk::UnansweredWindows> unanswered_;
  base::OwnedFd log_;
  bool has_failed_ = false;
  bool has_said_full_ = false;
};

}  // namespace lagwatch::tools
