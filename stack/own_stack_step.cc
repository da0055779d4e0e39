// SPDX-License-Identifier: Apache-2.0
#include "stack/own_stack_step.h"

#include <cerrno>
#include <cstring>

#include "base/process/safe_memory.h"
#include "stack/unwind/processor.h"
#include "stack/unwind/tables/byte_cursor.h"
#include "stack/unwind/tables/expression.h"

namespace lagwatch::stack {
namespace {

uint64_t Signed(int32_t offset) { return static_cast<uint64_t>(int64_t{offset}); }

size_t ReadKeepingErrno(uint64_t address, void* destination, size_t size_bytes) {
  const int before = errno;
  const size_t got = base::ReadOwnMemory(address, destination, size_bytes);
  errno = before;
  return got;
}

class OwnInput final : public ExpressionInput {
 public:
  OwnInput(const OwnCursor& cursor, OwnStackMemory* memory) : cursor_(cursor), memory_(memory) {}
  bool ReadRegister(uint64_t number, uint64_t* value) override { return cursor_.ReadRegister(number, value); }
  bool ReadWord(uint64_t address, uint64_t* word) override { return memory_->ReadWord(address, word); }

 private:
  const OwnCursor& cursor_;
  OwnStackMemory* memory_;
};

// The expression lies in the module's memory, after its length.
bool EvaluateAt(uint64_t address, const uint64_t* initial, const OwnCursor& cursor, OwnStackMemory* memory,
                uint64_t* result) {
  char bytes[256];
  ByteCursor block({bytes, ReadKeepingErrno(address, bytes, sizeof bytes), address});
  ByteView expression = block.Take(block.Uleb());
  OwnInput input(cursor, memory);
  return block.ok() && EvaluateExpression(expression, initial, &input, result);
}

// The callee's values that its caller's frame is computed from.
struct OwnCallee {
  const OwnCursor& cursor;
  uint64_t load_bias;
  uint64_t cfa;
  OwnStackMemory* memory;

  bool Find(UnwindRule::Saved where, int32_t offset, uint64_t* value) const {
    uint64_t address = cfa + Signed(offset);
    if (where == UnwindRule::Saved::kExpression &&
        !EvaluateAt(load_bias + Signed(offset), &cfa, cursor, memory, &address)) {
      return false;
    }
    return where != UnwindRule::Saved::kUndefined && where != UnwindRule::Saved::kInRegister &&
           memory->ReadWord(address, value);
  }
};

bool FindCfa(const UnwindRule& rule, uint64_t load_bias, const OwnCursor& cursor, OwnStackMemory* memory,
             uint64_t* cfa) {
  if (rule.cfa == UnwindRule::Cfa::kNone) return false;
  if (rule.cfa == UnwindRule::Cfa::kExpression)
    return EvaluateAt(load_bias + Signed(rule.cfa_offset), nullptr, cursor, memory, cfa);
  uint64_t number = rule.cfa_register;
  if (rule.cfa == UnwindRule::Cfa::kStackPointer) number = Registers::kStackPointer;
  if (rule.cfa == UnwindRule::Cfa::kFramePointer) number = Registers::kFramePointer;
  if (!cursor.ReadRegister(number, cfa)) return false;
  *cfa += Signed(rule.cfa_offset);
  return true;
}

}  // namespace

bool OwnStackMemory::ReadWord(uint64_t address, uint64_t* word) {
  if (address >= own_.begin && address < own_.end && own_.end - address >= sizeof *word) {
    *word = LoadOwnWord(address);
    return true;
  }
  uint64_t at = address - window_address_;
  if (at >= window_bytes_ || window_bytes_ - at < sizeof *word) {
    if (window_count_++ == kMaxWindows) return false;
    window_address_ = address;
    window_bytes_ = ReadKeepingErrno(address, window_, sizeof window_);
    if (window_bytes_ < sizeof *word) return false;
    at = 0;
  }
  std::memcpy(word, window_ + at, sizeof *word);
  return true;
}

bool OwnCursor::ReadRegister(uint64_t dwarf_register, uint64_t* value) const {
  switch (dwarf_register) {
    case Registers::kStackPointer:
      *value = stack_pointer;
      return true;
    case Registers::kProgramCounter:
      *value = program_counter;
      return true;
    case Registers::kFramePointer:
      *value = frame_pointer;
      return true;
    case Registers::kBasePointer:
      *value = base_pointer;
      return base_pointer != 0;
    default:
      if (registers == nullptr || !registers->is_known(static_cast<int>(dwarf_register))) return false;
      *value = registers->value[dwarf_register];
      return true;
  }
}

OwnStep StepByRule(const UnwindRule& rule, uint64_t load_bias, OwnStackMemory* memory, OwnCursor* cursor) {
  uint64_t cfa;
  if (!FindCfa(rule, load_bias, *cursor, memory, &cfa)) return OwnStep::kIncomplete;
  const OwnCursor callee_cursor = *cursor;
  const OwnCallee callee{callee_cursor, load_bias, cfa, memory};
  uint64_t return_address;
  if (rule.return_address == UnwindRule::Saved::kUndefined) return OwnStep::kComplete;
  if (rule.return_address == UnwindRule::Saved::kSame) {
    const Registers* registers = cursor->registers;
    if (!kHasLinkRegister || registers == nullptr) return OwnStep::kIncomplete;
    return_address = registers->value[Registers::kReturnAddress];
  } else if (!callee.Find(rule.return_address, rule.return_address_offset, &return_address)) {
    return OwnStep::kIncomplete;
  }
  const bool is_outward = cfa > cursor->stack_pointer ||
                          (kHasLinkRegister && cursor->registers != nullptr && cfa == cursor->stack_pointer);
  if (rule.base_pointer != UnwindRule::Saved::kSame &&
      !callee.Find(rule.base_pointer, rule.base_pointer_offset, &cursor->base_pointer)) {
    cursor->base_pointer = 0;
  }
  // A frame pointer that cannot be read leads nowhere: the next frame that needs it ends the walk.
  if (rule.frame_pointer != UnwindRule::Saved::kSame &&
      !callee.Find(rule.frame_pointer, rule.frame_pointer_offset, &cursor->frame_pointer)) {
    cursor->frame_pointer = 0;
  }
  cursor->program_counter = StripSignature(return_address);
  cursor->stack_pointer = cfa;
  cursor->registers = nullptr;
  if (cursor->program_counter == 0) return OwnStep::kComplete;
  return is_outward || rule.cfa == UnwindRule::Cfa::kExpression ? OwnStep::kToCaller : OwnStep::kIncomplete;
}

OwnStep StepOverSignal(OwnStackMemory* memory, OwnCursor* cursor, Registers* interrupted) {
  unsigned char code[kMaxCodeBytes] = {};
  const bool is_there = cursor->registers == nullptr &&
                        ReadKeepingErrno(cursor->program_counter, code, sizeof code) != 0 &&
                        IsSignalReturn(code);
  if (!is_there) return OwnStep::kIncomplete;
  interrupted->known_mask = Registers::kAllKnown;
  for (int i = 0; i < Registers::kCount; ++i) {
    if (!memory->ReadWord(cursor->stack_pointer + SignalFrameOffset(i), &interrupted->value[i]))
      return OwnStep::kIncomplete;
  }
  *cursor = {interrupted->program_counter(), interrupted->stack_pointer(),
             interrupted->value[Registers::kFramePointer], interrupted->value[Registers::kBasePointer],
             interrupted};
  return OwnStep::kToCaller;
}

}  // namespace lagwatch::stack
