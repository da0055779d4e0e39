// SPDX-License-Identifier: Apache-2.0
// Notifies the service manager regularly that the program is well, as systemd's WatchdogSec= requires:
// without notifications the manager restarts the service.
#pragma once

#include <cstdint>
#include <memory>

#include "base/counter.h"
#include "watchdog/service/service_manager.h"

namespace lagwatch::watchdog {

// Thread safety: one thread at a time, except for the counters.
class ServiceFeed {
 public:
  // Null when no manager waits for this process (ServiceManager). Context: background.
  static std::unique_ptr<ServiceFeed> FromEnvironment();

  // Says that all is well, if that is due: every half of the manager's time, or soon after a try that failed.
  // Never waits. The socket is open for the call only. Context: watchdog.
  void Feed(int64_t now_ns);
  // When the next one is due (CLOCK_MONOTONIC).
  int64_t due_ns() const { return due_ns_; }

  uint64_t sent_count() const { return sent_count_.value(); }
  uint64_t failed_count() const { return failed_count_.value(); }

 private:
  ServiceFeed() = default;
  bool Send() const;

  ServiceManager manager_;
  int64_t period_ns_ = 0;
  int64_t due_ns_ = 0;
  base::Counter sent_count_;
  base::Counter failed_count_;
};

}  // namespace lagwatch::watchdog
