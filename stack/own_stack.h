// SPDX-License-Identifier: Apache-2.0
// Walks the calling thread's own stack where nothing may be waited for: in hooks of malloc, of locks, of the
// loader. See docs/design/unwinding.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/process/mapped_array.h"
#include "base/status.h"
#include "stack/code_map.h"
#include "stack/compact_rule.h"
#include "stack/frames/call_registers.h"
#include "stack/frames/raw_stack.h"
#include "stack/signal/thread_block.h"
#include "stack/unwind/tables/table_library.h"

namespace lagwatch::stack {

struct OwnCursor;
enum class OwnStep : uint8_t;

// Walks the calling thread's stack. No lock, no allocation, no thread-local storage; errno is kept. A system
// call only for code seen for the first time, and if the thread runs on another stack than its own.
//
// Thread safety: any thread of the C library's at once, signal handlers included. Invariants:
// - Rules are cached in two words, the second of which is the rule XOR its key: words of two writers do not
//   fit together, and are looked up again. The key includes the generation of the code snapshot, so that a
//   change of modules invalidates all rules.
// - Memory is read plainly only between the stack pointer and the end of the calling thread's own stack.
class OwnStackWalker {
 public:
  // The largest use of a walk of the stack that it runs on. If less is left, as on a small alternate signal
  // stack, it ends at its first frame.
  static constexpr size_t kWalkBytes = 4096;

  // Errors: kUnavailable when the map's unwinder has no tables, or there is no memory. Context: background.
  static base::Result<std::unique_ptr<OwnStackWalker>> Create(std::shared_ptr<CodeMap> code);

  // The return addresses from `from.program_counter` on, innermost first; at most `capacity`. `is_complete`:
  // they reach the place where the thread began. Where tables are not compiled yet they are asked for, and
  // where code is unknown the next CodeMap::RefreshIfDue() looks. The function that `from` is of must not
  // have returned. Context: hot, signal.
  size_t Walk(const CallRegisters& from, uint64_t* program_counters, size_t capacity,
              bool* is_complete) const;

  // The same for the callers of the function that this is written in.
  [[gnu::always_inline]] inline size_t WalkCallers(uint64_t* program_counters, size_t capacity,
                                                   bool* is_complete) const {
    const size_t count = WalkCallersOf(CallRegisters::Here(), program_counters, capacity, is_complete);
    asm volatile("" ::: "memory");  // not a tail call, which would take the frame away
    return count;
  }
  size_t WalkCallersOf(const CallRegisters& function, uint64_t* program_counters, size_t capacity,
                       bool* is_complete) const;

 private:
  static constexpr size_t kCachedRules = 8192;

  struct CachedRule {  // direct-mapped by address; both are read and written atomically
    uint64_t word;
    uint64_t check;
  };

  using CodePlace = CodeSnapshot::CodePlace;
  enum class Known : uint8_t {
    kRule,
    kNoRule,   // the module has none
    kNowhere,  // no module is there
    kNotYet,   // may be another time
  };
  struct Rarities;

  explicit OwnStackWalker(std::shared_ptr<CodeMap> code);

  size_t WalkFrom(const OwnCursor& start, bool is_skipped, uint64_t* program_counters, size_t capacity,
                  bool* is_complete) const;
  // `key` is the generation's.
  CompactRule RuleOf(uint64_t end_of_call, uint32_t generation, uint64_t key) const;
  Known LookUp(uint64_t address, uint32_t generation, CodePlace* place, FoundRule* found) const;
  OwnStep StepRarely(uint32_t generation, Rarities* rarities, OwnCursor* cursor) const;
  bool IsAtItsBegin(const OwnCursor& cursor, uint32_t generation) const;
  // Whether the stack that the caller runs on has kWalkBytes left. True where its size is not known, as for
  // coroutines. A system call on a stack that is not the thread's own.
  bool HasRoom() const;
  // The memory that the calling thread certainly has from `stack_pointer` on; empty on another stack.
  MemoryRegion OwnStack(uint64_t stack_pointer) const;

  std::shared_ptr<CodeMap> code_;
  TableLibrary* tables_;
  ThreadBlockLayout thread_block_;
  mutable base::MappedArray<CachedRule> rules_;
};

}  // namespace lagwatch::stack
