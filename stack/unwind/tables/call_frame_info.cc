// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/call_frame_info.h"

#include <algorithm>

#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {
namespace {

using Saved = UnwindRule::Saved;

// DWARF 5, section 7.24.
enum CallFrameInstruction : uint8_t {
  kAdvanceLoc = 0x40,  // the upper two bits; the lower six are the operand
  kOffset = 0x80,
  kRestore = 0xc0,
  kOperandMask = 0x3f,
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kNegateRaState = 0x2d,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
};

bool ReadLength(ByteCursor* cursor, uint64_t* length, bool* is_64_bit) {
  *length = cursor->Read<uint32_t>();
  *is_64_bit = *length == UINT32_MAX;
  if (*is_64_bit) *length = cursor->Read<uint64_t>();
  return cursor->ok();
}

// These run once for each function, so they must be few; compilers write some ten bytes.
constexpr size_t kMaxCommonInstructionBytes = 1024;

int64_t Multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace

bool ParseEntryHeader(const ByteView& bytes, FrameSection section, uint64_t section_address,
                      EntryHeader* header) {
  ByteCursor cursor(bytes);
  uint64_t length;
  bool is_64_bit;
  if (!ReadLength(&cursor, &length, &is_64_bit)) return false;
  if (length == 0) {
    *header = {};
    return true;
  }
  // The sum of this and any place in a section must not wrap.
  if (length > INT64_MAX - cursor.position()) return false;
  uint64_t id_address = cursor.address();
  header->size = cursor.position() + length;
  bool is_64_bit_id = is_64_bit && section == FrameSection::kDebugFrame;
  uint64_t id = is_64_bit_id ? cursor.Read<uint64_t>() : cursor.Read<uint32_t>();
  if (section == FrameSection::kEhFrame) {
    header->is_cie = id == 0;
    header->cie_address = id_address - id;
  } else {
    header->is_cie = id == (is_64_bit_id ? UINT64_MAX : UINT32_MAX);
    header->cie_address = section_address + id;
  }
  return cursor.ok();
}

bool ParseCommonInformation(const ByteView& entry, FrameSection section, CommonInformation* cie) {
  ByteCursor cursor(entry);
  uint64_t length;
  bool is_64_bit;
  if (!ReadLength(&cursor, &length, &is_64_bit)) return false;
  cursor.Skip(is_64_bit && section == FrameSection::kDebugFrame ? 8 : 4);
  uint8_t version = cursor.U8();
  if (version != 1 && version != 3 && version != 4) return false;
  char augmentation[8] = {};
  size_t letters = 0;
  while (char letter = static_cast<char>(cursor.U8())) {
    if (letters == sizeof augmentation) return false;
    augmentation[letters++] = letter;
  }
  if (version == 4) cursor.Skip(2);  // sizes of addresses and segments
  cie->code_alignment = cursor.Uleb();
  cie->data_alignment = cursor.Sleb();
  uint64_t return_register = version == 1 ? cursor.U8() : cursor.Uleb();
  if (return_register != static_cast<uint64_t>(Registers::kReturnAddress)) return false;
  cie->pointer_encoding = pointer_encoding::kAbsolute;
  cie->is_signal_frame = false;
  cie->has_augmentation_data = letters != 0;
  if (letters != 0) {
    if (augmentation[0] != 'z') return false;
    ByteCursor data(cursor.Take(cursor.Uleb()));
    for (size_t i = 1; i < letters; ++i) {
      switch (augmentation[i]) {
        case 'R':
          cie->pointer_encoding = data.U8();
          break;
        case 'P': {
          uint8_t encoding = data.U8();
          data.Pointer(encoding, 0);
          break;
        }
        case 'L':
          data.U8();
          break;
        case 'S':
          cie->is_signal_frame = true;
          break;
        default:  // arm64's 'B' and 'G' have no data and do not matter here
          break;
      }
    }
    if (!data.ok()) return false;
  }
  cie->instructions = cursor.Take(cursor.remaining());
  return cursor.ok() && cie->instructions.size <= kMaxCommonInstructionBytes;
}

bool ParseFrameDescription(const ByteView& entry, FrameSection section, const CommonInformation& cie,
                           FrameDescription* fde) {
  ByteCursor cursor(entry);
  uint64_t length;
  bool is_64_bit;
  if (!ReadLength(&cursor, &length, &is_64_bit)) return false;
  cursor.Skip(is_64_bit && section == FrameSection::kDebugFrame ? 8 : 4);
  if ((cie.pointer_encoding & pointer_encoding::kIndirect) != 0) return false;
  fde->begin = cursor.Pointer(cie.pointer_encoding, 0);
  uint64_t size = cursor.Pointer(cie.pointer_encoding & pointer_encoding::kFormatMask, 0);
  fde->end = fde->begin + size;
  if (cie.has_augmentation_data) cursor.Skip(cursor.Uleb());
  fde->instructions = cursor.Take(cursor.remaining());
  return cursor.ok() && fde->end >= fde->begin;
}

RuleRows::RuleRows(const CommonInformation& cie, const FrameDescription& fde, FrameSection section,
                   uint64_t load_bias)
    : cie_(cie),
      section_(section),
      load_bias_(load_bias),
      end_(fde.end),
      instructions_(fde.instructions),
      location_(fde.begin),
      next_location_(fde.begin) {
  rule_.is_signal_frame = cie.is_signal_frame;
  ByteCursor initial_instructions(cie.instructions);
  RunUntilAdvance(&initial_instructions);
  next_location_ = fde.begin;
  initial_ = rule_;
}

bool RuleRows::Next(Row* row) {
  // An advance by nothing starts no row of its own.
  do {
    location_ = next_location_;
    if (location_ >= end_) return false;
    next_location_ = end_;
    if (!is_broken_) RunUntilAdvance(&instructions_);
    if (is_broken_) {
      rule_.cfa = UnwindRule::Cfa::kNone;
      next_location_ = end_;
    }
  } while (next_location_ == location_);
  *row = {location_, std::min(next_location_, end_), rule_};
  return true;
}

void RuleRows::RunUntilAdvance(ByteCursor* instructions) {
  for (bool is_advance = false; !is_advance && !instructions->at_end() && !is_broken_;) {
    uint8_t opcode = instructions->U8();
    uint64_t operand = opcode & kOperandMask;
    switch (opcode & ~kOperandMask) {
      case kAdvanceLoc:
        return Advance(operand);
      case kOffset:
        SetSaved(operand, Saved::kAtCfa,
                 Multiply(static_cast<int64_t>(instructions->Uleb()), cie_.data_alignment));
        break;
      case kRestore:
        Restore(operand);
        break;
      default:
        is_advance = RunExtended(opcode, instructions);
    }
    if (!instructions->ok()) is_broken_ = true;
  }
}

bool RuleRows::RunExtended(uint8_t opcode, ByteCursor* instructions) {
  auto factored = [&](int64_t offset) { return Multiply(offset, cie_.data_alignment); };
  auto operand = [&] { return static_cast<int64_t>(instructions->Uleb()); };
  switch (opcode) {
    case kSetLoc:
      next_location_ = instructions->Pointer(cie_.pointer_encoding, 0);
      if (next_location_ < location_) is_broken_ = true;
      return true;
    case kAdvanceLoc1:
      Advance(instructions->U8());
      return true;
    case kAdvanceLoc2:
      Advance(instructions->Read<uint16_t>());
      return true;
    case kAdvanceLoc4:
      Advance(instructions->Read<uint32_t>());
      return true;
    case kNop:
      break;
    case kOffsetExtended: {
      uint64_t number = instructions->Uleb();
      SetSaved(number, Saved::kAtCfa, factored(operand()));
      break;
    }
    case kOffsetExtendedSf: {
      uint64_t number = instructions->Uleb();
      SetSaved(number, Saved::kAtCfa, factored(instructions->Sleb()));
      break;
    }
    case kGnuNegativeOffsetExtended: {
      uint64_t number = instructions->Uleb();
      SetSaved(number, Saved::kAtCfa, Multiply(factored(operand()), -1));
      break;
    }
    case kRestoreExtended:
      Restore(instructions->Uleb());
      break;
    case kUndefined:
      SetSaved(instructions->Uleb(), Saved::kUndefined, 0);
      break;
    case kSameValue:
      SetSaved(instructions->Uleb(), Saved::kSame, 0);
      break;
    case kRegister:
    case kValOffset:
    case kValOffsetSf: {
      uint64_t number = instructions->Uleb();
      const uint64_t place = instructions->Uleb();
      if (opcode == kRegister && number == Registers::kReturnAddress && place < Registers::kCount) {
        SetSaved(number, Saved::kInRegister, static_cast<int64_t>(place));
        break;
      }
      // Needs what a walk does not keep: the frame pointer is lost, and a return address there ends the walk.
      if (number == Registers::kReturnAddress) rule_.cfa = UnwindRule::Cfa::kNone;
      SetSaved(number, Saved::kUndefined, 0);
      break;
    }
    case kRememberState:
      if (remembered_count_ == kMaxRemembered) {
        is_broken_ = true;
      } else {
        remembered_[remembered_count_++] = rule_;
      }
      break;
    case kRestoreState:
      if (remembered_count_ == 0) {
        is_broken_ = true;
      } else {
        rule_ = remembered_[--remembered_count_];
      }
      break;
    case kDefCfa: {
      uint64_t number = instructions->Uleb();
      SetCfa(number, operand());
      break;
    }
    case kDefCfaSf: {
      uint64_t number = instructions->Uleb();
      SetCfa(number, factored(instructions->Sleb()));
      break;
    }
    case kDefCfaRegister:
      if (HasCfaOffset()) SetCfa(instructions->Uleb(), rule_.cfa_offset);
      break;
    case kDefCfaOffset:
      if (int64_t offset = operand(); HasCfaOffset() && Fits(offset)) {
        rule_.cfa_offset = static_cast<int32_t>(offset);
      }
      break;
    case kDefCfaOffsetSf:
      if (int64_t offset = factored(instructions->Sleb()); HasCfaOffset() && Fits(offset)) {
        rule_.cfa_offset = static_cast<int32_t>(offset);
      }
      break;
    case kDefCfaExpression: {
      uint64_t address = instructions->address();
      instructions->Skip(instructions->Uleb());
      rule_.cfa = ExpressionOffset(address, &rule_.cfa_offset) ? UnwindRule::Cfa::kExpression
                                                               : UnwindRule::Cfa::kNone;
      break;
    }
    case kExpression: {
      uint64_t number = instructions->Uleb();
      uint64_t address = instructions->address();
      instructions->Skip(instructions->Uleb());
      int32_t offset;
      if (ExpressionOffset(address, &offset)) {
        SetSaved(number, Saved::kExpression, offset);
      } else {
        SetSaved(number, Saved::kUndefined, 0);
      }
      break;
    }
    case kValExpression: {
      uint64_t number = instructions->Uleb();
      instructions->Skip(instructions->Uleb());
      if (number == Registers::kReturnAddress) rule_.cfa = UnwindRule::Cfa::kNone;
      SetSaved(number, Saved::kUndefined, 0);
      break;
    }
    case kNegateRaState:
      rule_.is_return_address_signed = !rule_.is_return_address_signed;
      break;
    case kGnuArgsSize:
      instructions->Uleb();
      break;
    default:
      is_broken_ = true;
  }
  return false;
}

void RuleRows::Advance(uint64_t factored_delta) {
  uint64_t delta;
  if (__builtin_mul_overflow(factored_delta, cie_.code_alignment, &delta) ||
      __builtin_add_overflow(location_, delta, &next_location_)) {
    is_broken_ = true;
  }
}

bool RuleRows::Fits(int64_t offset) {
  if (offset == static_cast<int32_t>(offset)) return true;
  is_broken_ = true;
  return false;
}

bool RuleRows::HasCfaOffset() {
  if (rule_.cfa != UnwindRule::Cfa::kExpression) return true;
  is_broken_ = true;
  return false;
}

void RuleRows::SetCfa(uint64_t dwarf_register, int64_t offset) {
  if (!Fits(offset)) return;
  rule_.cfa_offset = static_cast<int32_t>(offset);
  if (dwarf_register == Registers::kStackPointer) {
    rule_.cfa = UnwindRule::Cfa::kStackPointer;
  } else if (dwarf_register == Registers::kFramePointer) {
    rule_.cfa = UnwindRule::Cfa::kFramePointer;
  } else if (dwarf_register < Registers::kCount) {
    rule_.cfa = UnwindRule::Cfa::kRegister;
    rule_.cfa_register = static_cast<uint8_t>(dwarf_register);
  } else {
    is_broken_ = true;
  }
}

void RuleRows::SetSaved(uint64_t dwarf_register, Saved where, int64_t offset) {
  if (!Fits(offset)) return;
  if (saved_ != nullptr && where == Saved::kAtCfa && dwarf_register != Registers::kReturnAddress)
    saved_->Add(static_cast<int32_t>(offset));
  if (dwarf_register == Registers::kFramePointer) {
    rule_.frame_pointer = where;
    rule_.frame_pointer_offset = static_cast<int32_t>(offset);
  } else if (dwarf_register == Registers::kReturnAddress) {
    rule_.return_address = where;
    rule_.return_address_offset = static_cast<int32_t>(offset);
  } else if (dwarf_register == Registers::kBasePointer) {
    rule_.base_pointer = where;
    rule_.base_pointer_offset = static_cast<int32_t>(offset);
  }
}

void RuleRows::Restore(uint64_t dwarf_register) {
  if (dwarf_register == Registers::kFramePointer) {
    SetSaved(dwarf_register, initial_.frame_pointer, initial_.frame_pointer_offset);
  } else if (dwarf_register == Registers::kReturnAddress) {
    SetSaved(dwarf_register, initial_.return_address, initial_.return_address_offset);
  } else {
    SetSaved(dwarf_register, initial_.base_pointer, initial_.base_pointer_offset);
  }
}

bool RuleRows::ExpressionOffset(uint64_t address, int32_t* offset) {
  auto distance = static_cast<int64_t>(address - load_bias_);
  if (section_ != FrameSection::kEhFrame || distance != static_cast<int32_t>(distance)) return false;
  *offset = static_cast<int32_t>(distance);
  return true;
}

}  // namespace lagwatch::stack
