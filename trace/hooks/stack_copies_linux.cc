// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/hash.h"
#include "base/process/mapped_memory.h"
#include "base/process/safe_memory.h"
#include "base/ticks.h"
#include "stack/signal/context.h"
#include "stack/signal/replaced_returns.h"
#include "trace/hooks/stack_copies.h"

namespace lagwatch::trace {

constinit StackCopies g_stack_copies{};

namespace {

// A call's registers; a program counter is an instruction there, so the call itself.
stack::Registers RegistersOf(const CallRegisters& from) {
  using stack::Registers;
  Registers registers{};
  const auto set = [&](int number, uint64_t value) {
    registers.value[number] = value;
    registers.known_mask |= uint64_t{1} << number;
  };
  set(Registers::kProgramCounter, from.program_counter - 1);
  set(Registers::kStackPointer, from.stack_pointer);
  set(Registers::kFramePointer, from.frame_pointer);
  if (from.base_pointer != 0) set(Registers::kBasePointer, from.base_pointer);
  return registers;
}

void CopyStack(uint64_t begin, StackCopy* copy) {
  const uint64_t end = OwnStackEnd(begin);
  const bool is_certain = end != begin;
  // The part of the red zone that shares a page with the stack pointer: another page may not be there.
  constexpr uint64_t kPageMask = 4096 - 1;
  begin = std::max(begin - stack::kRedZoneBytes, begin & ~kPageMask);
  copy->address = begin;
  if (is_certain) {
    copy->end = end;
    copy->size_bytes = std::min<uint64_t>(end - begin, StackCopy::kMostBytes);
    stack::CopyMapped(begin, copy->bytes, copy->size_bytes);
  } else {  // a coroutine's, whose end is not known
    copy->size_bytes = base::ReadOwnMemory(begin, copy->bytes, StackCopy::kMostBytes);
    copy->end = begin + copy->size_bytes;
  }
  stack::MendReturns(begin, is_certain ? reinterpret_cast<const char*>(begin) : copy->bytes, copy->bytes,
                     copy->size_bytes);
}

}  // namespace

bool StackCopies::Prepare(CopyPieces copy_pieces, void* context) {
  if (copies_ == nullptr) copies_ = static_cast<StackCopy*>(base::MapUnlocked(kCapacity * sizeof(StackCopy)));
  copy_pieces_ = copy_pieces;
  context_ = context;
  return copies_ != nullptr;
}

uint8_t StackCopies::Take(const CallRegisters& from, const stack::Registers* registers,
                          std::span<const uint64_t> program_counters, Last* last) {
  const uint64_t begin_ticks = base::ReadTicks();
  const uint8_t number = TakePlace(from, registers, program_counters, last);
  spent_ticks_.fetch_add(base::ReadTicks() - begin_ticks, std::memory_order_relaxed);  // a statistic
  return number;
}

uint8_t StackCopies::TakePlace(const CallRegisters& from, const stack::Registers* registers,
                               std::span<const uint64_t> program_counters, Last* last) {
  // The first ones, so that no more pages are touched than are needed.
  for (uint32_t index = 0; index < kCapacity; ++index) {
    bool expected = false;
    // Acquire: the reader is done with it.
    if (is_taken_[index].load(std::memory_order_relaxed) ||
        !is_taken_[index].compare_exchange_strong(expected, true, std::memory_order_acquire))
      continue;
    StackCopy& copy = copies_[index];
    copy.registers = registers != nullptr ? *registers : RegistersOf(from);
    uint64_t& program_counter = copy.registers.value[stack::Registers::kProgramCounter];
    program_counter = stack::CurrentReplacedReturns().Original(program_counter);
    copy.pieces.Clear();
    if (copy_pieces_ != nullptr) copy_pieces_(context_, copy.registers, &copy.pieces);
    if (IsSame(copy.pieces, program_counters, last)) {
      is_taken_[index].store(false, std::memory_order_relaxed);  // no other thread has seen it
      return kSame;
    }
    CopyStack(copy.registers.stack_pointer(), &copy);
    return static_cast<uint8_t>(index + 1);
  }
  refused_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  return 0;
}

// Short: the native frames of a Python loop that waits again and again are the same, too.
bool StackCopies::IsSame(const stack::MemoryPieces& pieces, std::span<const uint64_t> program_counters,
                         Last* last) const {
  const uint64_t now_ticks = base::ReadTicks();
  uint64_t key = 0;
  if (pieces.is_whole()) {
    key = pieces.key();
    for (const uint64_t program_counter : program_counters) key = base::HashWord(program_counter, key);
  }
  const bool is_same = key != 0 && key == last->key &&
                       now_ticks - last->ticks < same_ticks_.load(std::memory_order_relaxed);  // a number
  if (!is_same) *last = {key, now_ticks};
  return is_same;
}

void StackCopies::Forget() {
  for (std::atomic<bool>& is_taken : is_taken_) is_taken.store(false);
}

}  // namespace lagwatch::trace
