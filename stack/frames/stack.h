// SPDX-License-Identifier: Apache-2.0
// A thread's stack as frames that mean the same in every run of the same binaries. Context: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.h"
#include "policies/hang.h"
#include "stack/frames/frame.h"

namespace lagwatch::stack {

inline constexpr size_t kMaxFrames = 256;

using policies::Completeness;

// The reason why a capture returned no frame.
enum class NoStackReason : uint8_t {
  kNone,              // it returned some
  kGone,              // the thread has ended
  kNoSignal,          // the program handles every real-time signal, or took ours
  kSignalBlocked,     // the thread blocks the signal
  kSmallSignalStack,  // its alternate signal stack has no room for a handler
  kHidden,            // it sleeps, and the process may not read where: ThreadActivity::kHidden
  kNoProcessor,       // it did not run in time
  kNoAnswer,          // its handler did not run in time
  kUnsteady,          // it went on between running and sleeping
  kUnreadable,        // its memory could not be read
  kLockedMemory,      // the program was changing its address space, and the watchdog had to wait for that
  kNoProc,            // the memory map could not be read: /proc is missing
  kLate,              // the dispatch was over before the watchdog got a processor
};

// As in reports.
constexpr const char* NameOf(NoStackReason reason) {
  switch (reason) {
    case NoStackReason::kNone:
      break;
    case NoStackReason::kGone:
      return "thread_ended";
    case NoStackReason::kNoSignal:
      return "no_signal";
    case NoStackReason::kSignalBlocked:
      return "signal_blocked";
    case NoStackReason::kSmallSignalStack:
      return "small_signal_stack";
    case NoStackReason::kHidden:
      return "not_permitted";
    case NoStackReason::kNoProcessor:
      return "no_processor";
    case NoStackReason::kNoAnswer:
      return "no_answer";
    case NoStackReason::kUnsteady:
      return "unsteady";
    case NoStackReason::kUnreadable:
      return "memory_unreadable";
    case NoStackReason::kLockedMemory:
      return "address_space_locked";
    case NoStackReason::kNoProc:
      return "no_proc";
    case NoStackReason::kLate:
      return "watchdog_late";
  }
  return "";
}

// Plain data without initializers, as Frame is.
struct Stack {
  uint32_t frame_count;
  Completeness completeness;
  // Of a stack too deep to be kept whole, so many frames are left out before frames[gap_at]; 0 and 0 else.
  uint32_t gap_at;
  uint64_t gap_frame_count;
  uint64_t task;  // of a script's event loop, which the thread ran: ScriptStacks::FindTask(); 0: none
  Frame frames[kMaxFrames];  // innermost first

  std::span<const Frame> view() const { return {frames, frame_count}; }
  // Whether the outermost frames are there, be they only probable.
  bool HasOutermost() const {
    return completeness == Completeness::kComplete || completeness == Completeness::kProbable;
  }

  void Clear() {
    frame_count = 0;
    completeness = Completeness::kNone;
    gap_at = 0;
    gap_frame_count = 0;
    task = 0;
  }
  void CopyFrom(const Stack& other) {
    frame_count = other.frame_count;
    completeness = other.completeness;
    gap_at = other.gap_at;
    gap_frame_count = other.gap_frame_count;
    task = other.task;
    for (uint32_t i = 0; i < frame_count; ++i) frames[i] = other.frames[i];
  }
  // Equal for stacks that went through the same functions, wherever in them they were.
  uint64_t FunctionHash() const {
    uint64_t hash = base::kFnvOffsetBasis;
    for (const Frame& frame : view()) hash = frame.FunctionHash(hash);
    return hash;
  }
  uint64_t InnermostFunctionHash() const { return frame_count == 0 ? 0 : frames[0].FunctionHash(); }
};

}  // namespace lagwatch::stack
