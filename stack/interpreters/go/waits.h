// SPDX-License-Identifier: Apache-2.0
// The wait of a goroutine, by the functions of Go's run time on its stack: the numbers of its wait reasons
// differ from version to version, the functions' names do not.
#pragma once

#include <cstdint>
#include <string_view>

#include "policies/verdict.h"

namespace lagwatch::stack::go {

enum class WaitKind : uint8_t {
  kNone,  // it does not wait, or for the run time's own work
  kChannelReceive,
  kChannelSend,
  kSelect,
  kForEver,  // a select without cases
  kMutex,
  kReadLock,
  kWriteLock,
  kGroup,
  kCondition,
  kSemaphore,
  kSleep,
  kNetwork,
  kFinalizers,
};

// As Go's own traces name it.
std::string_view NameOf(WaitKind kind);
policies::Doing DoingOf(WaitKind kind);
// Whether a goroutine waits for another one's unlocking there, in which none idles.
constexpr bool IsLock(WaitKind kind) {
  return kind == WaitKind::kMutex || kind == WaitKind::kReadLock || kind == WaitKind::kWriteLock;
}

// Follows the names of a stack's functions, innermost first.
class WaitReader {
 public:
  // Returns false once `kind()` is final: the function is not a part of the wait.
  bool Add(std::string_view function);
  WaitKind kind() const { return kind_; }
  // The offset of the semaphore in its lock.
  uint64_t semaphore_offset() const;

 private:
  bool is_for_mutex_ = false;  // also of a lock of readers and writers, whose first member is one
  WaitKind kind_ = WaitKind::kNone;
};

// Whether a function is of Go's run time, or of the part of the standard library that waits for it.
bool IsRunTime(std::string_view function);

}  // namespace lagwatch::stack::go
