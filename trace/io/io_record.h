// SPDX-License-Identifier: Apache-2.0
// The files that a watched thread used in one dispatch, as its hooked calls have counted them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

// A kind of call, by its effect.
enum class IoOperation : uint8_t {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kLookUp,
  kList,
  kChange,
  kLock,
  kClose,
  kResolve
};
inline constexpr size_t kIoOperations = 10;

struct IoTotals {
  uint64_t calls;
  uint64_t bytes;
  uint64_t ticks;
};

// A thread's copy of its own stack, from a call outwards.
struct IoStack {
  static constexpr size_t kMostBytes = 48 << 10;

  uint64_t program_counter;  // the call's return address
  uint64_t stack_pointer;
  uint64_t frame_pointer;
  uint64_t address;     // of bytes[0]
  uint64_t size_bytes;  // of `bytes` that are filled; 0: there is no copy
  uint64_t end;         // of the live stack
  alignas(16) char bytes[kMostBytes];
};

// Plain data without initializers; all zero is empty.
struct IoContent {
  static constexpr size_t kMaxPathBytes = 120;
  static constexpr size_t kPaths = 16;
  static constexpr size_t kMaxTagBytes = 64;

  uint64_t dispatch;  // its number
  uint64_t begin_ticks;
  std::array<IoTotals, kIoOperations> totals;
  uint64_t sum_ticks;
  uint64_t path_calls;  // that name a path
  // The longest call, if it took a good part of the limit.
  uint64_t longest_ticks;            // 0: none did
  const char* longest_call;          // the function's name; static
  char longest_path[kMaxPathBytes];  // as `paths`, or a descriptor's link; empty where it is not known
  // Of the paths, some that were drawn at random, as the calls named them; cut. A path that is relative to a
  // descriptor's folder begins with kOtherFolder.
  std::array<std::array<char, kMaxPathBytes>, kPaths> paths;
  char folder[kMaxPathBytes];  // the working directory; empty where it is not known
  char tag[kMaxTagBytes];      // the dispatch's, cut; a function's address as WriteFunctionTag() has it
  // The stack of the call that brought the dispatch over a limit, or of the longest one. The last member.
  IoStack stack;

  static constexpr char kOtherFolder[] = "*/";
};

// The record of one dispatch.
//
// Thread safety: its thread writes it while it is in that dispatch. Another thread may read the content once
// `is_over_limit` is set and the dispatch is over, until it clears `is_over_limit`: before that, the record's
// thread does not use it for another dispatch.
struct IoRecord {
  std::atomic<bool> is_over_limit;
  IoContent content;
  // Of the loop, as DispatchWords has them.
  const std::atomic<uint64_t>* number_word;
  const std::atomic<uint64_t>* ended_word;
  // For its own thread: when the next look is due.
  uint64_t long_ticks;       // a longer call is kept as the longest
  uint64_t sum_limit_ticks;  // UINT64_MAX once it is over a limit, as the next
  uint64_t path_calls_limit;
};
static_assert(std::atomic<bool>::is_always_lock_free, "not signal-safe");

}  // namespace lagwatch::trace
