// SPDX-License-Identifier: Apache-2.0
// Has the calls of watched threads that use files counted, for a monitor's watch of them (option
// io_watch_ms): rewrites the import tables of all modules, also of those that come later.
#pragma once

#include <atomic>
#include <memory>

#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "watchdog/loops/watch_options.h"

namespace lagwatch::sdk {

// A process has one at a time at most. Context: background.
class IoHooks {
 public:
  // Starts a thread that hooks the calls, also of modules that are loaded later: while dispatches are under
  // way, the watchdog wakes it once a second. Returns once the calls are hooked, or take too long. Errors:
  // kUnavailable without memory or a thread.
  static base::Result<std::unique_ptr<IoHooks>> Start(const watchdog::IoOptions& limits);
  // False if the thread does not end in time: then this object must be leaked.
  [[nodiscard]] bool TryStop();
  ~IoHooks() = default;
  IoHooks(const IoHooks&) = delete;
  IoHooks& operator=(const IoHooks&) = delete;

 private:
  explicit IoHooks(const watchdog::IoOptions& limits) : limits_(limits) {}
  void KeepInstalled();

  watchdog::IoOptions limits_;
  base::QuietThread thread_;
  base::Sleeper started_;
  base::Sleeper sleeper_;
  std::atomic<bool> is_ending_{false};
};

}  // namespace lagwatch::sdk
