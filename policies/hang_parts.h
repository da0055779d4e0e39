// SPDX-License-Identifier: Apache-2.0
// The parts of a report about a hang, each defined once: the watchdog fills them, the encoder writes them and
// the decoder returns them. `Text` is std::string_view for parts that borrow their texts for a call,
// std::string for parts that own them. lagwatch.proto describes each field. Context: any; pure.
#pragma once

#include <cstdint>

#include "base/uuid.h"
#include "policies/hang.h"

namespace lagwatch::policies {

// Of a thread without a stack. Else the stack's index in its report.
inline constexpr uint32_t kNoStack = UINT32_MAX;

template <typename Text>
struct HangHeader {
  base::Uuid id = {};
  base::Uuid session_id = {};
  base::Uuid hang_id = {};  // the same for all reports of one hang
  uint32_t ordinal = 0;     // 0, 1 … within the hang
  Text app = {};
  Text app_version = {};
  Text user = {};
  Text os = {};
  Text machine = {};
  Text distribution = {};  // of the operating system; empty where it is not known
  uint32_t pid = 0;
  uint32_t tid = 0;
  Text loop = {};  // empty for a hang of the process
  Text tag = {};   // may be empty
  HangKind kind = HangKind::kUnknown;
  HangLevel level = HangLevel::kHang;
  uint32_t threshold_ms = 0;
  int64_t start_wall_ms = 0;
  int64_t elapsed_ns = 0;
  int64_t cpu_window_ns = 0;
  int64_t cpu_thread_ns = 0;
  int64_t cpu_process_ns = 0;
};

template <typename Text>
struct ThreadOf {
  uint32_t tid = 0;
  Text name = {};
  char state = '?';  // the kernel's letter
  uint32_t stack = kNoStack;
  int64_t cpu_ns = 0;           // since the thread started
  Text wait_channel = {};       // for a thread without a stack or in state D; else empty
  int64_t syscall_number = -1;  // of the call that the thread sleeps in; -1 without one, or if not known
};

// A lock that a thread waits for.
struct LockWait {
  uint64_t address = 0;  // of the lock; of the waited-for word where the kind is not known
  LockKind kind = LockKind::kUnknown;
  WaitsFor waits_for = WaitsFor::kUnknown;
  bool has_timeout = false;
  int32_t owner_tid = 0;  // 0 unless waits_for is kOwner

  bool operator==(const LockWait&) const = default;
};

// A thread that waits for a lock or for a signal.
template <typename Text>
struct WaitOf {
  uint32_t tid = 0;
  uint32_t stack = kNoStack;  // of the waiting thread
  LockWait lock = {};
  Text owner_name = {};
  uint32_t owner_stack = kNoStack;
  // Of the waiting thread, where it is not one of the watched process; else 0.
  uint32_t pid = 0;
  // Of the owner, where it is one of another process than the watched one; else 0, empty and '\0'.
  uint32_t owner_pid = 0;
  Text owner_process = {};     // its name; empty where it is another user's
  char owner_state = '\0';     // the kernel's letter
  int64_t owner_nice = 0;      // of the owner's thread
  int64_t owner_age_ns = 0;    // of its process; 0 where it is not known
  bool is_owner_idle = false;  // it waits for what the waiting thread should send, and has not answered
  // Of the run of that process, if it has a watchdog of its own, whose reports have the same id; else zero.
  base::Uuid owner_session_id = {};
};

// A dispatch that was over before.
template <typename Text>
struct PastDispatchOf {
  Text tag = {};       // may be empty
  int64_t age_ns = 0;  // of its end
  int64_t wall_ns = 0;
  int64_t cpu_ns = 0;         // 0 when not known
  int64_t queue_wait_ns = 0;  // of the task that it ran; 0 when the program did not say
};

}  // namespace lagwatch::policies
