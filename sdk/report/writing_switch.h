// SPDX-License-Identifier: Apache-2.0
// Whether this process may write reports at all: the collector's config and the user's consent turn that off
// at once, also during a write. Context: any; wait-free.
#pragma once

#include <atomic>

namespace lagwatch::sdk {

class WritingSwitch {
 public:
  // The collector wants no reports.
  void SetKilled(bool is_killed) { is_killed_.store(is_killed, std::memory_order_relaxed); }
  // The user has not given consent.
  void SetRefused(bool is_refused) { is_refused_.store(is_refused, std::memory_order_relaxed); }
  bool is_on() const {
    return !is_killed_.load(std::memory_order_relaxed) && !is_refused_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> is_killed_{false};
  std::atomic<bool> is_refused_{false};
};

// The process's own.
inline constinit WritingSwitch process_writing;

}  // namespace lagwatch::sdk
