// SPDX-License-Identifier: Apache-2.0
// The goroutines that probably have a lock: Go's locks do not name their owners. One counts if a frame
// of it, or the frame's code before its place, has the lock's address, and the frame's function has locked
// something before that place and unlocked nothing.
#pragma once

#include <cstdint>

#include "stack/interpreters/go/functions.h"
#include "stack/interpreters/go/goroutines.h"
#include "stack/interpreters/go/walk.h"

namespace lagwatch::stack::go {

struct Holders {
  uint64_t id = 0;     // of the likeliest; 0: none
  uint32_t count = 0;  // of those that are as likely
  bool is_sure = false;
};

// Of the lock that a goroutine waits for. Context: watchdog; not thread-safe.
class HolderSearch {
 public:
  // All are borrowed.
  HolderSearch(Functions* functions, StackBytes* stack, Memory* memory)
      : functions_(functions), stack_(stack), memory_(memory) {}

  // Adds what `goroutine` has to do with the lock at `address`.
  void Add(const Goroutine& goroutine, uint64_t address);
  // One that cannot be looked at may have it.
  void AddUnknown() { has_unknown_ = true; }
  Holders found() const;

 private:
  enum class Evidence : uint8_t { kNone, kNear, kExact };
  Evidence EvidenceIn(const Frame& frame, uint64_t address);
  bool HasLocked(const Frame& frame);
  // Whether the code from the function's begin to the frame's place refers to `address`.
  bool RefersTo(const Frame& frame, uint64_t address);
  // Calls `use(target)` for the functions that the same code calls, until it returns false.
  template <typename Use>
  void ForEachCall(const Frame& frame, Use use);

  Functions* functions_;
  StackBytes* stack_;
  Memory* memory_;
  bool has_unknown_ = false;
  uint64_t exact_id_ = 0;
  uint32_t exact_count_ = 0;
  uint64_t near_id_ = 0;
  uint32_t near_count_ = 0;
};

}  // namespace lagwatch::stack::go
