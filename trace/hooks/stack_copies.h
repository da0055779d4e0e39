// SPDX-License-Identifier: Apache-2.0
// Copies that threads make of their own stacks where interpreters run: with them the script frames are found
// later, on another thread (docs/design/trace_scripts.md).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory_pieces.h"
#include "trace/hooks/frame_pointer_walk.h"

namespace lagwatch::trace {

// Plain data without initializers.
struct StackCopy {
  static constexpr size_t kMostBytes = 128 << 10;

  stack::Registers registers;
  uint64_t address;     // of bytes[0] when it was copied
  uint64_t size_bytes;  // of `bytes` that are filled
  uint64_t end;         // of the live stack
  stack::MemoryPieces pieces;
  alignas(16) char bytes[kMostBytes];
};

// Copies what an interpreter's reader needs of the calling thread besides its stack. Context: signal.
using CopyPieces = void (*)(void* context, const stack::Registers& registers, stack::MemoryPieces* pieces);

// Thread safety: Take() from any thread, its writer alone until the number is published; Give() by the one
// reader. Prepare() and Forget() while no thread takes.
class StackCopies {
 public:
  static constexpr uint32_t kCapacity = 250;
  // In place of a number: the thread had the same frames when it made its last copy.
  static constexpr uint8_t kSame = 255;

  // Makes room, which stays for ever: a few MiB, of which pages are touched when they are needed. False
  // without memory. `copy_pieces` may be null; `context` is handed to it. Context: background.
  bool Prepare(CopyPieces copy_pieces, void* context);
  // Copies stand for equal ones for so long. Context: any.
  void SetSameTicks(uint64_t ticks) { same_ticks_.store(ticks, std::memory_order_relaxed); }  // a number
  // From now on threads copy their stacks, or no longer.
  void SetWanted(bool is_wanted) { is_wanted_.store(is_wanted, std::memory_order_release); }
  // Acquire: the preparations come before.
  bool is_wanted() const { return is_wanted_.load(std::memory_order_acquire); }

  // A thread's last copy. All zero at first.
  struct Last {
    uint64_t key;    // of its frames
    uint64_t ticks;  // when it was made
  };
  // Copies the calling thread's stack from `from` outwards, with `registers`, those of a signal's context, if
  // not null. `program_counters` are those of its native frames. Returns a number for Find() and Give(), or
  // kSame; 0 if there is no room, which is counted. Context: hot, signal.
  uint8_t Take(const CallRegisters& from, const stack::Registers* registers,
               std::span<const uint64_t> program_counters, Last* last);
  const StackCopy& Find(uint8_t number) const { return copies_[number - 1]; }
  void Give(uint8_t number) {
    is_taken_[number - 1].store(false, std::memory_order_release);  // pairs with Take(): it was read
  }
  // All are free again: in a child of fork(), and before a recording.
  void Forget();
  uint64_t refused_count() const { return refused_.load(std::memory_order_relaxed); }
  // The time that threads spent in Take(), in ticks.
  uint64_t spent_ticks() const { return spent_ticks_.load(std::memory_order_relaxed); }

 private:
  uint8_t TakePlace(const CallRegisters& from, const stack::Registers* registers,
                    std::span<const uint64_t> program_counters, Last* last);
  bool IsSame(const stack::MemoryPieces& pieces, std::span<const uint64_t> program_counters,
              Last* last) const;

  std::atomic<bool> is_wanted_{false};
  StackCopy* copies_ = nullptr;  // kCapacity; null until they were needed
  CopyPieces copy_pieces_ = nullptr;
  void* context_ = nullptr;
  std::array<std::atomic<bool>, kCapacity> is_taken_{};
  std::atomic<uint64_t> same_ticks_{0};  // so long a copy stands for others
  std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> spent_ticks_{0};
};
static_assert(std::atomic<bool>::is_always_lock_free, "not signal-safe");

extern constinit StackCopies g_stack_copies;

}  // namespace lagwatch::trace
