// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "trace/instrument/probes/code_scan.h"
#include "trace/instrument/probes/instruction.h"

namespace lagwatch::trace {
namespace {

using Kind = Instruction::Kind;

// Whether the bytes at `at`, if an instruction or its last bytes begin there, branch into [begin, begin +
// size).
bool MayBranchAt(uint64_t at, uint64_t end, uint64_t begin, size_t size) {
  const unsigned char* code = CodeAt(at);
  const auto hits = [&](uint64_t next, int64_t distance) {
    return next + static_cast<uint64_t>(distance) - begin < size;
  };
  const unsigned char first = code[0];
  const bool is_short = (first >= 0x70 && first < 0x80) || (first >= 0xe0 && first <= 0xe3) || first == 0xeb;
  if (is_short && end - at >= 2 && hits(at + 2, static_cast<signed char>(code[1]))) return true;
  int32_t distance = 0;
  const auto is_long_at = [&](size_t operand) {
    if (end - at < operand + 4) return false;
    std::memcpy(&distance, code + operand, sizeof distance);
    return hits(at + operand + 4, distance);
  };
  if (first == 0xe9 && is_long_at(1)) return true;
  return first == 0x0f && end - at >= 2 && (code[1] & 0xf0) == 0x80 && is_long_at(2);
}

bool IsBranch(const Instruction& instruction) {
  return instruction.kind == Kind::kJump || instruction.kind == Kind::kConditionalJump ||
         instruction.kind == Kind::kCountedJump;
}

// Follows where a function's return address is, from its stack pointer and its frame pointer.
class FrameWatch {
 public:
  // Returns true for a load of the return address.
  bool ReadsReturnAddress(const unsigned char* code, const Instruction& instruction) {
    const unsigned char* opcode = code + instruction.opcode_at;
    if (*opcode >= 0x50 && *opcode < 0x58) {  // push
      depth_bytes_ += 8;
      return false;
    }
    if (instruction.opcode_at != 1 || (code[0] & 0xfb) != 0x48) return false;  // REX.W, but not B: %rsp, %rbp
    switch (*opcode) {
      case 0x83:
        depth_bytes_ += opcode[1] == 0xec ? opcode[2] : 0;  // sub $…, %rsp
        return false;
      case 0x81:
        depth_bytes_ += opcode[1] == 0xec ? ReadLong(opcode + 2) : 0;
        return false;
      case 0x89:
        has_frame_ = has_frame_ || (opcode[1] == 0xe5 && depth_bytes_ == 8);  // mov %rsp, %rbp
        return false;
      case 0x8b:
        return IsLoadOfReturnAddress(opcode + 1);
      default:
        return false;
    }
  }

 private:
  static uint32_t ReadLong(const unsigned char* bytes) {
    uint32_t value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  bool IsLoadOfReturnAddress(const unsigned char* modrm) const {
    const int mode = *modrm >> 6;
    const int place = *modrm & 7;
    if (has_frame_ && mode == 1 && place == 5) return modrm[1] == 8;
    if (mode == 3 || place != 4 || modrm[1] != 0x24) return false;
    const uint64_t offset = mode == 0 ? 0 : mode == 1 ? modrm[2] : ReadLong(modrm + 2);
    return offset == depth_bytes_;
  }

  uint64_t depth_bytes_ = 0;
  bool has_frame_ = false;
};

}  // namespace

bool ReadsReturnAddress(uint64_t begin, uint64_t end) {
  constexpr int kLooks = 64;
  FrameWatch frame;
  uint64_t at = begin;
  for (int looks = 0; at < end && looks < kLooks; ++looks) {
    const Instruction instruction = DecodeInstruction(CodeAt(at), end - at, at);
    const bool goes_on = instruction.kind == Kind::kPlain || instruction.kind == Kind::kConditionalJump ||
                         instruction.kind == Kind::kCall || instruction.kind == Kind::kIndirectCall;
    if (instruction.size_bytes == 0 || !goes_on) return false;
    if (frame.ReadsReturnAddress(CodeAt(at), instruction)) return true;
    at += instruction.size_bytes;
  }
  return false;
}

bool MayBranchInto(uint64_t begin, uint64_t end, size_t head_bytes) {
  uint64_t candidate = 0;
  uint64_t last_candidate = 0;
  for (uint64_t at = begin; at < end; ++at) {
    if (!MayBranchAt(at, end, begin, head_bytes)) continue;
    if (candidate == 0) candidate = at;
    last_candidate = at;
  }
  if (candidate == 0) return false;
  for (uint64_t at = begin; at <= last_candidate;) {
    const Instruction instruction = DecodeInstruction(CodeAt(at), end - at, at);
    if (instruction.size_bytes == 0) return true;
    if (IsBranch(instruction) && instruction.target - begin < head_bytes) return true;
    at += instruction.size_bytes;
  }
  return false;
}

bool MayBranchTo(uint64_t begin, uint64_t end, uint64_t target) {
  for (uint64_t at = begin; at < end;) {
    const Instruction instruction = DecodeInstruction(CodeAt(at), end - at, at);
    const bool may_be_it = instruction.size_bytes == 0 || instruction.kind == Kind::kIndirectJump;
    if (may_be_it || (IsBranch(instruction) && instruction.target == target)) return true;
    at += instruction.size_bytes;
  }
  return false;
}

bool EndsForGood(uint64_t begin, uint64_t end) {
  Instruction last;
  uint64_t at = begin;
  while (at < end) {
    last = DecodeInstruction(CodeAt(at), end - at, at);
    if (last.size_bytes == 0) return false;
    at += last.size_bytes;
  }
  return last.kind == Kind::kJump || last.kind == Kind::kReturn || last.kind == Kind::kIndirectJump;
}

bool IsPadding(uint64_t begin, uint64_t end) {
  constexpr unsigned char kTrap = 0xcc;
  constexpr unsigned char kNop = 0x90;
  for (uint64_t at = begin; at < end;) {
    const unsigned char* code = CodeAt(at);
    const Instruction instruction = DecodeInstruction(code, end - at, at);
    const unsigned char* opcode = code + instruction.opcode_at;
    const bool is_long = instruction.opcode_at > 0 && opcode[-1] == 0x0f && *opcode == 0x1f;
    if (instruction.size_bytes == 0 || !(*code == kTrap || *opcode == kNop || is_long)) return false;
    at += instruction.size_bytes;
  }
  return true;
}

}  // namespace lagwatch::trace
