// SPDX-License-Identifier: Apache-2.0
// The encoding: Intel's manual, volume 2, chapter 2 and appendix A. Debian has the library Zydis as a shared
// object only, which liblagwatch's guests would have to load; lengths and relative operands take this file.
#include <cstring>

#include "trace/instrument/probes/instruction.h"

namespace lagwatch::trace {
namespace {

using Kind = Instruction::Kind;

// The operands that follow an opcode, by one letter each:
//   .  none                                  m  a ModRM byte and what that asks for
//   b  one byte   w  two   e  three          B  m and b
//   l  4 bytes; 2 with the prefix 66         L  m and l
//   f  as l; 8 with REX.W                    j  the distance of a branch, 4 bytes
//   a  8 bytes; 4 with the prefix 67         ?  none that compilers write
//   x  m without a prefix, else ?
constexpr char kOneByteOperands[] =
    "mmmmbl??mmmmbl??"
    "mmmmbl??mmmmbl??"
    "mmmmbl??mmmmbl??"
    "mmmmbl??mmmmbl??"
    "????????????????"  // REX
    "................"
    "???m????lLbB...."
    "bbbbbbbbbbbbbbbb"
    "BL?Bmmmmmmmmmmmm"
    "..........?....."
    "aaaa....bl......"
    "bbbbbbbbffffffff"
    "BBw.??BLe.w..b?."
    "mmmm???.mmmmmmmm"
    "bbbbbbbbjj?b...."
    "?.??..mm......mm";
static_assert(sizeof kOneByteOperands == 257);
// Behind 0f.
constexpr char kTwoByteOperands[] =
    "mmmm?.....?.?m.B"
    "mmmmmmmmmmmmmmmm"
    "mmmm????mmmmmmmm"
    "......?.????????"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmm.xx??mmmm"
    "jjjjjjjjjjjjjjjj"
    "mmmmmmmmmmmmmmmm"
    "...mBm??...mBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm........"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";
static_assert(sizeof kTwoByteOperands == 257);

// Of those with a VEX or EVEX prefix, by opcode map.
char VectorOperands(unsigned char map, unsigned char opcode, bool is_evex) {
  const bool has_byte =
      (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
  switch (map) {
    case 1:
      if (opcode == 0x77 && !is_evex) return '.';  // vzeroupper
      return has_byte ? 'B' : 'm';
    case 2:
      return 'm';
    case 3:
      return 'B';
    case 5:
    case 6:
      return is_evex ? 'm' : '?';
    default:
      return '?';
  }
}

template <size_t kCount>
bool Has(const unsigned char (&opcodes)[kCount], unsigned char opcode) {
  for (const unsigned char each : opcodes)
    if (each == opcode) return true;
  return false;
}

Kind KindOfOneByte(unsigned char opcode, unsigned char modrm) {
  // Traps, ports, far returns, hlt, cli, sti.
  constexpr unsigned char kOthers[] = {0x6c, 0x6d, 0x6e, 0x6f, 0xca, 0xcb, 0xcc, 0xcd, 0xcf, 0xe4, 0xe5,
                                       0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb};
  if (Has(kOthers, opcode)) return Kind::kOther;
  if (opcode >= 0x70 && opcode < 0x80) return Kind::kConditionalJump;
  if (opcode >= 0xe0 && opcode < 0xe4) return Kind::kCountedJump;
  if (opcode == 0xe8) return Kind::kCall;
  if (opcode == 0xe9 || opcode == 0xeb) return Kind::kJump;
  if (opcode == 0xc2 || opcode == 0xc3) return Kind::kReturn;
  const int extension = modrm >> 3 & 7;
  if (opcode == 0xc6 || opcode == 0xc7) return extension == 7 ? Kind::kOther : Kind::kPlain;  // transactions
  if (opcode != 0xff) return Kind::kPlain;
  constexpr Kind kByExtension[] = {Kind::kPlain,        Kind::kPlain, Kind::kIndirectCall, Kind::kOther,
                                   Kind::kIndirectJump, Kind::kOther, Kind::kPlain,        Kind::kOther};
  return kByExtension[extension];
}

Kind KindOfTwoBytes(unsigned char opcode) {
  if (opcode >= 0x80 && opcode < 0x90) return Kind::kConditionalJump;
  // System calls, undefined instructions, and the kernel's.
  constexpr unsigned char kOthers[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x20, 0x21, 0x22,
                                       0x23, 0x30, 0x32, 0x34, 0x35, 0x37, 0xaa, 0xb9, 0xff};
  return Has(kOthers, opcode) ? Kind::kOther : Kind::kPlain;
}

// Reads one instruction; every step fails at the end of the code.
class Decoder {
 public:
  Decoder(const unsigned char* code, size_t available_bytes)
      : code_(code), available_(available_bytes < kMaxBytes ? available_bytes : kMaxBytes) {}

  Instruction Run(uint64_t address) {
    ReadPrefixes();
    unsigned char opcode = Take();
    if (opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62) {
      ReadVector(opcode);
    } else if (opcode == 0x0f) {
      ReadTwoBytes();
    } else {
      opcode_ = opcode;
      result_.opcode_at = static_cast<uint8_t>(at_ - 1);
      const unsigned char modrm = at_ < available_ ? code_[at_] : 0;
      operands_ = OperandsOf(opcode, modrm);
      result_.kind = KindOfOneByte(opcode, modrm);
    }
    ReadOperands(address);
    if (has_failed_) return {};
    result_.size_bytes = static_cast<uint8_t>(at_);
    return result_;
  }

 private:
  static constexpr size_t kMaxBytes = 15;

  unsigned char Take() {
    if (at_ < available_) return code_[at_++];
    has_failed_ = true;
    return 0;
  }
  void Skip(size_t count) {
    at_ += count;
    has_failed_ = has_failed_ || at_ > available_;
  }

  void ReadPrefixes() {
    for (; at_ < available_; ++at_) {
      const unsigned char byte = code_[at_];
      if (byte == 0x66) {
        has_66_ = true;
      } else if (byte == 0x67) {
        has_67_ = true;
      } else if (byte == 0xf2 || byte == 0xf3) {
        has_repeat_ = true;
      } else if (byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 &&
                 byte != 0x65 && byte != 0xf0) {
        break;
      }
    }
    if (at_ < available_ && (code_[at_] & 0xf0) == 0x40) is_wide_ = (code_[at_++] & 8) != 0;
  }

  static char OperandsOf(unsigned char opcode, unsigned char modrm) {
    const int extension = modrm >> 3 & 7;
    if (opcode == 0x8f && extension != 0) return '?';  // AMD's XOP
    // The tests among these have an immediate operand.
    if (opcode == 0xf6) return extension < 2 ? 'B' : 'm';
    if (opcode == 0xf7) return extension < 2 ? 'L' : 'm';
    return kOneByteOperands[opcode];
  }

  void ReadVector(unsigned char first) {
    const bool is_evex = first == 0x62;
    unsigned char map = 1;
    if (first == 0xc5) {
      Skip(1);
    } else {
      map = Take() & (is_evex ? 7 : 0x1f);
      Skip(is_evex ? 2 : 1);
    }
    opcode_ = Take();
    result_.opcode_at = static_cast<uint8_t>(at_ - 1);
    result_.kind = Kind::kPlain;
    operands_ = VectorOperands(map, opcode_, is_evex);
  }

  void ReadTwoBytes() {
    opcode_ = Take();
    result_.opcode_at = static_cast<uint8_t>(at_ - 1);
    if (opcode_ == 0x38 || opcode_ == 0x3a) {
      operands_ = opcode_ == 0x3a ? 'B' : 'm';
      result_.kind = Kind::kPlain;
      Skip(1);
      return;
    }
    operands_ = kTwoByteOperands[opcode_];
    if (operands_ == 'x') operands_ = has_66_ || has_repeat_ ? '?' : 'm';  // AMD's extrq, insertq
    result_.kind = KindOfTwoBytes(opcode_);
  }

  void ReadModRm() {
    const unsigned char modrm = Take();
    const int mode = modrm >> 6;
    const int place = modrm & 7;
    if (mode == 3) return;
    size_t displacement_bytes = mode == 1 ? 1 : mode == 2 ? 4 : 0;
    if (place == 4) {
      const bool has_base = (Take() & 7) != 5;
      if (mode == 0 && !has_base) displacement_bytes = 4;
    } else if (mode == 0 && place == 5) {
      displacement_bytes = 4;
      result_.relative_operand_at = static_cast<uint8_t>(at_);
      has_failed_ = has_failed_ || has_67_;
    }
    Skip(displacement_bytes);
  }

  void ReadOperands(uint64_t address) {
    const size_t long_bytes = has_66_ && !is_wide_ ? 2 : 4;
    if (operands_ == 'm' || operands_ == 'B' || operands_ == 'L') ReadModRm();
    switch (operands_) {
      case 'b':
      case 'B':
        Skip(1);
        break;
      case 'w':
        Skip(2);
        break;
      case 'e':
        Skip(3);
        break;
      case 'l':
      case 'L':
        Skip(long_bytes);
        break;
      case 'f':
        Skip(is_wide_ ? 8 : long_bytes);
        break;
      case 'a':
        Skip(has_67_ ? 4 : 8);
        break;
      case 'j':
        Skip(4);
        // Processors differ on whether the distance is shorter.
        has_failed_ = has_failed_ || (has_66_ && !is_wide_);
        break;
      case '?':
        has_failed_ = true;
        break;
      default:
        break;
    }
    if (!has_failed_) SetTarget(address);
  }

  void SetTarget(uint64_t address) {
    int32_t distance = 0;
    if (operands_ == 'j') {
      std::memcpy(&distance, code_ + at_ - 4, sizeof distance);
    } else if (result_.kind == Kind::kJump || result_.kind == Kind::kConditionalJump ||
               result_.kind == Kind::kCountedJump) {
      distance = static_cast<signed char>(code_[at_ - 1]);
    } else {
      return;
    }
    result_.target = address + at_ + static_cast<uint64_t>(int64_t{distance});
  }

  const unsigned char* code_;
  size_t available_;
  size_t at_ = 0;
  bool has_failed_ = false;
  bool has_66_ = false;
  bool has_67_ = false;
  bool has_repeat_ = false;
  bool is_wide_ = false;
  unsigned char opcode_ = 0;
  char operands_ = '?';
  Instruction result_;
};

// Code that is being written.
class Output {
 public:
  Output(unsigned char* bytes, uint64_t address) : bytes_(bytes), address_(address) {}

  void Add(const unsigned char* bytes, size_t count) {
    std::memcpy(bytes_ + size_, bytes, count);
    size_ += count;
  }
  // The distance from the end of the next four bytes, which it is written to.
  void AddDistance(uint64_t target) {
    SetDistance(size_, size_ + 4, target);
    size_ += 4;
  }
  void SetDistance(size_t at, size_t end, uint64_t target) {
    const auto distance = static_cast<int64_t>(target - (address_ + end));
    const auto low = static_cast<int32_t>(distance);
    has_failed_ = has_failed_ || low != distance;
    std::memcpy(bytes_ + at, &low, sizeof low);
  }
  void AddJump(uint64_t target) {
    constexpr unsigned char kJumpOpcode = 0xe9;
    Add(&kJumpOpcode, 1);
    AddDistance(target);
  }
  size_t size() const { return has_failed_ ? 0 : size_; }

 private:
  unsigned char* bytes_;
  uint64_t address_;
  size_t size_ = 0;
  bool has_failed_ = false;
};

}  // namespace

Instruction DecodeInstruction(const unsigned char* code, size_t available_bytes, uint64_t address) {
  return Decoder(code, available_bytes).Run(address);
}

size_t MoveCall(const Instruction& instruction, uint64_t address, uint64_t moved_address,
                unsigned char moved[kMaxMovedBytes]) {
  if (instruction.kind != Kind::kCall) return 0;
  Output output(moved, moved_address);
  const uint64_t back = address + instruction.size_bytes;
  const auto low = static_cast<uint32_t>(back);
  const auto high = static_cast<uint32_t>(back >> 32);
  constexpr unsigned char kPush = 0x68;
  constexpr unsigned char kStoreAbove[] = {0xc7, 0x44, 0x24, 0x04};  // movl $…, 4(%rsp)
  output.Add(&kPush, 1);
  output.Add(reinterpret_cast<const unsigned char*>(&low), sizeof low);
  output.Add(kStoreAbove, sizeof kStoreAbove);
  output.Add(reinterpret_cast<const unsigned char*>(&high), sizeof high);
  output.AddJump(instruction.target);
  return output.size();
}

size_t MoveInstruction(const unsigned char* code, const Instruction& instruction, uint64_t address,
                       uint64_t moved_address, unsigned char moved[kMaxMovedBytes]) {
  Output output(moved, moved_address);
  const uint64_t next = address + instruction.size_bytes;
  switch (instruction.kind) {
    case Kind::kJump:
      output.AddJump(instruction.target);
      return output.size();
    case Kind::kConditionalJump: {
      // 7x and 0f 8x: the same conditions in the same order.
      const auto condition = static_cast<unsigned char>(code[instruction.opcode_at] & 0x0f);
      const unsigned char opcode[] = {0x0f, static_cast<unsigned char>(0x80 | condition)};
      output.Add(opcode, sizeof opcode);
      output.AddDistance(instruction.target);
      output.AddJump(next);
      return output.size();
    }
    case Kind::kPlain:
    case Kind::kIndirectJump:
    case Kind::kReturn:
      break;
    default:
      return 0;
  }
  if (instruction.size_bytes == 0) return 0;
  output.Add(code, instruction.size_bytes);
  if (const size_t operand = instruction.relative_operand_at; operand != 0) {
    int32_t distance = 0;
    std::memcpy(&distance, code + operand, sizeof distance);
    output.SetDistance(operand, instruction.size_bytes, next + static_cast<uint64_t>(int64_t{distance}));
  }
  if (instruction.kind == Kind::kPlain) output.AddJump(next);
  return output.size();
}

}  // namespace lagwatch::trace
