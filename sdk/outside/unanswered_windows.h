// SPDX-License-Identifier: Apache-2.0
// The processes that leave a question of their compositor unanswered: only a compositor can ask windows of
// Wayland. Its word is a reason to go on with a dispatch that nothing else proves, and no verdict.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace lagwatch::sdk {

// To be made by base::MakeForkShared. Thread safety: Set from one thread; Has from any, of any process that
// shares it. Context: any; allocates nothing.
class UnansweredWindows {
 public:
  static constexpr size_t kMost = 64;

  // Notes whether a window of process `pid` has left the question unanswered. False if kMost others have,
  // too: then this one is not noted.
  bool Set(pid_t pid, bool is_unanswered) {
    const pid_t sought = is_unanswered ? 0 : pid;
    if (is_unanswered && Has(pid)) return true;
    for (std::atomic<pid_t>& place : pids_) {
      if (place.load() != sought) continue;
      place.store(is_unanswered ? pid : 0);
      return true;
    }
    return !is_unanswered;
  }
  bool Has(pid_t pid) const {
    for (const std::atomic<pid_t>& place : pids_)
      if (place.load() == pid) return true;
    return false;
  }

 private:
  std::array<std::atomic<pid_t>, kMost> pids_{};  // 0: a free place
};

}  // namespace lagwatch::sdk
