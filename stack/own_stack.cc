// SPDX-License-Identifier: Apache-2.0
#include "stack/own_stack.h"

#include <sys/syscall.h>

#include <csignal>
#include <utility>

#include "stack/own_stack_step.h"
#include "stack/signal/context.h"
#include "stack/signal/replaced_returns.h"
#include "stack/thread_block_layout.h"
#include "stack/unwind/processor.h"

namespace lagwatch::stack {
namespace {

// Addresses have 48 bits: the bits above hold the generation, and so do those below once 16 are not enough.
uint64_t KeyOf(uint32_t generation) {
  return uint64_t{generation & 0xffff} << 48 | uint64_t{generation >> 16} << 32;
}

// The step of nearly all frames, on memory that is there up to `end`. False, and nothing changed, when it
// needs another way.
[[gnu::always_inline]] inline bool StepUsually(CompactRule rule, uint64_t end, OwnCursor* cursor) {
  uint64_t base;
  if (rule.kind() == CompactRule::kByStackPointer) {
    base = cursor->stack_pointer;
  } else if (rule.kind() == CompactRule::kByFramePointer) {
    base = cursor->frame_pointer;
  } else {
    return false;
  }
  const uint64_t cfa = base + rule.cfa_bytes();
  const uint64_t frame_bytes = cfa - cursor->stack_pointer;
  const uint64_t frame_pointer_bytes = rule.frame_pointer_bytes();
  const uint64_t base_pointer_bytes = rule.base_pointer_bytes();
  const uint64_t return_address_bytes = rule.return_address_bytes();
  if (cfa > end || cfa < cursor->stack_pointer || return_address_bytes > frame_bytes ||
      frame_pointer_bytes > frame_bytes || base_pointer_bytes > frame_bytes) {
    return false;
  }
  const uint64_t return_address = StripSignature(LoadOwnWord(cfa - return_address_bytes));
  if (return_address == 0) return false;
  if (frame_pointer_bytes != 0) cursor->frame_pointer = LoadOwnWord(cfa - frame_pointer_bytes);
  if (base_pointer_bytes != 0) cursor->base_pointer = LoadOwnWord(cfa - base_pointer_bytes);
  cursor->program_counter = return_address;
  cursor->stack_pointer = cfa;
  return true;
}

}  // namespace

// Rarely needed parts of a walk.
struct OwnStackWalker::Rarities {
  explicit Rarities(const MemoryRegion& own) : memory(own) {}

  OwnStackMemory memory;
  Registers interrupted;  // by the signal whose frame was stepped over last
  int inward_count = 0;   // of steps that do not lead outward: a damaged stack may lead in circles
};

base::Result<std::unique_ptr<OwnStackWalker>> OwnStackWalker::Create(std::shared_ptr<CodeMap> code) {
  constexpr auto kUnavailable = base::StatusCode::kUnavailable;
  if (code->tables() == nullptr) return base::Status(kUnavailable, "this unwinder compiles no tables");
  if (code->refresh_count() == 0) code->Refresh();
  std::unique_ptr<OwnStackWalker> walker(new OwnStackWalker(std::move(code)));
  if (!walker->rules_.Resize(kCachedRules))
    return base::Status(kUnavailable, "no memory for the cache of unwind rules");
  return walker;
}

OwnStackWalker::OwnStackWalker(std::shared_ptr<CodeMap> code)
    : code_(std::move(code)), tables_(code_->tables()), thread_block_(FindThreadBlockLayout()) {}

size_t OwnStackWalker::Walk(const CallRegisters& from, uint64_t* program_counters, size_t capacity,
                            bool* is_complete) const {
  const OwnCursor cursor{from.program_counter, from.stack_pointer, from.frame_pointer, from.base_pointer,
                         nullptr};
  if (!HasRoom()) [[unlikely]] {
    *is_complete = false;
    if (capacity == 0) return 0;
    program_counters[0] = CurrentReplacedReturns().Original(from.program_counter);
    return 1;
  }
  return WalkFrom(cursor, false, program_counters, capacity, is_complete);
}

size_t OwnStackWalker::WalkCallersOf(const CallRegisters& function, uint64_t* program_counters,
                                     size_t capacity, bool* is_complete) const {
  const OwnCursor cursor{function.program_counter, function.stack_pointer, function.frame_pointer,
                         function.base_pointer, nullptr};
  *is_complete = false;
  if (!HasRoom()) [[unlikely]]
    return 0;
  return WalkFrom(cursor, true, program_counters, capacity, is_complete);
}

size_t OwnStackWalker::WalkFrom(const OwnCursor& start, bool is_skipped, uint64_t* program_counters,
                                size_t capacity, bool* is_complete) const {
  OwnCursor cursor = start;
  const uint32_t generation = code_->snapshot().generation();
  const uint64_t key = KeyOf(generation);
  const MemoryRegion own = OwnStack(cursor.stack_pointer);
  uint64_t end = own.end;  // 0 while on another stack
  const ReplacedReturns replaced = CurrentReplacedReturns();
  Rarities rarities(own);
  size_t count = 0;
  *is_complete = false;
  uint64_t end_of_call = cursor.program_counter;
  bool is_kept = !is_skipped;  // whether the next frame is
  for (;; is_kept = true) {
    if (replaced.Holds(end_of_call)) [[unlikely]]
      end_of_call = cursor.program_counter = replaced.original_of(end_of_call);
    if (is_kept) {
      if (count == capacity) return count;
      program_counters[count++] = cursor.program_counter;
    }
    const CompactRule rule = RuleOf(end_of_call, generation, key);
    if (StepUsually(rule, end, &cursor)) [[likely]] {
      end_of_call = cursor.program_counter;
      continue;
    }
    OwnCursor next = cursor;  // another, so that this one can stay in registers
    next.registers = end_of_call == cursor.program_counter ? nullptr : &rarities.interrupted;
    const OwnStep step =
        rule.kind() == CompactRule::kEnd ? OwnStep::kComplete : StepRarely(generation, &rarities, &next);
    *is_complete = step == OwnStep::kComplete;
    if (step != OwnStep::kToCaller) return count;
    cursor = next;
    end_of_call = next.end_of_call();
    end = own.Holds(cursor.stack_pointer) ? own.end : 0;
  }
}

// The walk waits for this at each frame: nothing but a mask is between a return address and its rule.
CompactRule OwnStackWalker::RuleOf(uint64_t end_of_call, uint32_t generation, uint64_t key) const {
  CachedRule& cached = rules_[end_of_call % kCachedRules];
  // Relaxed: the two words prove each other, and lead nowhere.
  const uint64_t word = __atomic_load_n(&cached.word, __ATOMIC_RELAXED);
  const uint64_t check = __atomic_load_n(&cached.check, __ATOMIC_RELAXED);
  if ((word ^ check) == (end_of_call ^ key)) [[likely]]
    return CompactRule(word);
  CodePlace place;
  FoundRule found;
  const Known known = LookUp(end_of_call - 1, generation, &place, &found);
  if (known != Known::kRule && known != Known::kNoRule) return CompactRule(CompactRule::kUnknown);
  const CompactRule rule = CompactRule::Of(found.rule);
  __atomic_store_n(&cached.word, rule.word(), __ATOMIC_RELAXED);
  __atomic_store_n(&cached.check, rule.word() ^ end_of_call ^ key, __ATOMIC_RELAXED);
  return rule;
}

OwnStackWalker::Known OwnStackWalker::LookUp(uint64_t address, uint32_t generation, CodePlace* place,
                                             FoundRule* found) const {
  switch (code_->snapshot().Find(address, generation, place)) {
    case CodeSnapshot::Found::kModule:
      break;
    case CodeSnapshot::Found::kChanged:
      return Known::kNotYet;
    case CodeSnapshot::Found::kNothing:
      code_->NoteUnknownMemory();
      return Known::kNowhere;
    case CodeSnapshot::Found::kOtherCode:
      return Known::kNowhere;
  }
  const UnwindTable* table = tables_->Find(place->module);
  if (table == nullptr) {
    if (!tables_->IsRequested(place->module)) tables_->RequestByIndex(place->module);
    return Known::kNotYet;
  }
  *found = FoundRule{};
  if (table->Find(address - place->load_bias, found)) return Known::kRule;
  *found = FoundRule{};
  return Known::kNoRule;
}

OwnStep OwnStackWalker::StepRarely(uint32_t generation, Rarities* rarities, OwnCursor* cursor) const {
  constexpr int kMaxInward = 16;
  CodePlace place;
  FoundRule found;
  const uint64_t stack_pointer = cursor->stack_pointer;
  const Known known = LookUp(cursor->end_of_call() - 1, generation, &place, &found);
  if (known == Known::kNotYet) return OwnStep::kIncomplete;
  OwnStep step;
  if (known == Known::kRule && !found.rule.is_signal_frame) {
    step = StepByRule(found.rule, place.load_bias, &rarities->memory, cursor);
  } else if (known == Known::kNoRule && IsAtItsBegin(*cursor, generation)) {
    return OwnStep::kComplete;
  } else {
    step = StepOverSignal(&rarities->memory, cursor, &rarities->interrupted);
  }
  if (cursor->stack_pointer <= stack_pointer && ++rarities->inward_count > kMaxInward)
    return OwnStep::kIncomplete;
  return step;
}

// A function that is entered by a return, not a call, has no caller: glibc's coroutines begin so.
bool OwnStackWalker::IsAtItsBegin(const OwnCursor& cursor, uint32_t generation) const {
  CodePlace place;
  FoundRule found;
  return cursor.registers == nullptr &&
         LookUp(cursor.program_counter, generation, &place, &found) == Known::kRule &&
         found.function_offset == cursor.program_counter - place.load_bias;
}

bool OwnStackWalker::HasRoom() const {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (thread_block_.is_known()) {
    const uint64_t note_address =
        ReadThreadPointer() + static_cast<uint64_t>(thread_block_.stack_note_offset);
    const ThreadStackNote note{LoadOwnWord(note_address), LoadOwnWord(note_address + sizeof(uint64_t))};
    if (note.Holds(frame)) return frame - note.address >= kWalkBytes;
  }
  if (StackRegions{nullptr, 0, code_->snapshot().main_stack()}.IsOnMainStack(frame)) return true;
  stack_t alternate;
  uint64_t arguments[6] = {0, reinterpret_cast<uint64_t>(&alternate)};
  const bool is_on_it = CallKernel(SYS_sigaltstack, arguments) == 0 && (alternate.ss_flags & SS_ONSTACK) != 0;
  return !is_on_it || frame - reinterpret_cast<uint64_t>(alternate.ss_sp) >= kWalkBytes;
}

MemoryRegion OwnStackWalker::OwnStack(uint64_t stack_pointer) const {
  const MemoryRegion main_stack = code_->snapshot().main_stack();
  if (StackRegions{nullptr, 0, main_stack}.IsOnMainStack(stack_pointer))
    return {stack_pointer, main_stack.end};
  if (!thread_block_.is_known()) return {};
  const uint64_t thread_pointer = ReadThreadPointer();
  const uint64_t note_address = thread_pointer + static_cast<uint64_t>(thread_block_.stack_note_offset);
  const ThreadStackNote note{LoadOwnWord(note_address), LoadOwnWord(note_address + sizeof(uint64_t))};
  const bool is_own = note.Holds(stack_pointer) && note.Holds(thread_pointer);
  return is_own && stack_pointer < thread_pointer ? MemoryRegion{stack_pointer, thread_pointer}
                                                  : MemoryRegion{};
}

}  // namespace lagwatch::stack
