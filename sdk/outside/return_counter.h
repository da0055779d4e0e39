// SPDX-License-Identifier: Apache-2.0
// Notices that a thread of another process comes to a place in its code, by a hardware breakpoint of that
// thread alone, which the first time turns off: some 9 us, in a virtual machine. Source: perf_event_open(2),
// PERF_TYPE_BREAKPOINT.
#pragma once

#include <cstdint>
#include <optional>

#include "base/owned_fd.h"

namespace lagwatch::sdk {

// Context: background.
class ReturnCounter {
 public:
  // Counts from now on. Without effect where the kernel does not permit it (perf_event_paranoid), or if
  // debuggers hold all breakpoints.
  void Arm(int32_t tid, uint64_t address);
  void Disarm() { counter_ = {}; }
  bool is_armed() const { return static_cast<bool>(counter_); }
  // The count since Arm(), 0 or 1; none if it is not armed.
  std::optional<uint64_t> Read() const;

 private:
  base::OwnedFd counter_;
};

}  // namespace lagwatch::sdk
