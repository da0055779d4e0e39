// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string_view>

#include "stack/unwind/processor.h"

namespace lagwatch::stack {
namespace {

constexpr unsigned char kEndBranch[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr unsigned char kPushFramePointer = 0x55;
constexpr unsigned char kReturn = 0xc3;

template <typename T>
T Load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

size_t SkipEndBranch(const unsigned char* code) {
  return std::memcmp(code, kEndBranch, sizeof kEndBranch) == 0 ? sizeof kEndBranch : 0;
}

// mov %rsp,%rbp in both of its encodings.
bool IsMoveToFramePointer(const unsigned char* code) {
  return code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

// Whether a SIB byte follows this ModRM byte.
bool HasScaledIndex(unsigned char modrm) { return modrm >> 6 != 3 && (modrm & 7) == 4; }

// The bytes of a ModRM operand at `code`: with its SIB byte and its displacement.
size_t OperandBytes(const unsigned char* code) {
  const unsigned mod = code[0] >> 6;
  const unsigned rm = code[0] & 7;
  if (mod == 3) return 1;
  const size_t size = 1 + (HasScaledIndex(code[0]) ? 1 : 0);
  if (mod == 1) return size + 1;
  if (mod == 2 || rm == 5) return size + 4;
  return HasScaledIndex(code[0]) && (code[1] & 7) == 5 ? size + 4 : size;
}

// The length of `call *operand` with this ModRM byte, without a prefix; 0 if it is not such a call, or
// longer than `room`.
size_t IndirectCallBytes(const unsigned char* code, size_t room) {
  constexpr unsigned char kGroup5 = 0xff;
  constexpr unsigned kCall = 2;
  if (code[0] != kGroup5 || (code[1] >> 3 & 7) != kCall) return 0;
  if (HasScaledIndex(code[1]) && room < 3) return 0;
  return 1 + OperandBytes(code + 1);
}

bool IsIn(unsigned char byte, std::string_view bytes) {
  return bytes.find(static_cast<char>(byte)) != std::string_view::npos;
}

// The length of an instruction that compilers move between those of a prologue: it neither jumps nor changes
// the stack pointer by itself. 0 for any other. Source: Intel SDM, volume 2, appendix A.
size_t MovedInstructionBytes(const unsigned char* code) {
  using std::literals::operator""sv;
  size_t at = 0;
  const bool is_short = code[at] == 0x66;
  constexpr size_t kMostPrefixes = 3;
  while (at < kMostPrefixes && IsIn(code[at], "\x66\xf2\xf3\x64\x65"sv)) ++at;
  const bool is_wide = (code[at] & 0xf8) == 0x48;
  if ((code[at] & 0xf0) == 0x40) ++at;
  const unsigned char operation = code[at++];
  const size_t immediate = is_short ? 2 : 4;
  if (operation == 0x0f) {
    const unsigned char second = code[at++];
    const bool is_moved =
        (second & 0xf0) == 0x40 || IsIn(second,
                                        "\x10\x11\x12\x14\x16\x1f\x28\x29\x54\x57"
                                        "\x60\x61\x62\x6c\x6e\x6f\x7e\x7f\xaf\xb6\xb7\xbe\xbf\xd6\xef"sv);
    if (is_moved) return at + OperandBytes(code + at);
    return IsIn(second, "\x70\xc6"sv) ? at + OperandBytes(code + at) + 1 : 0;
  }
  if ((operation & 0xf8) == 0xb8) return at + (is_wide ? 8 : immediate);
  if (operation < 0x40 && (operation & 7) < 4) return at + OperandBytes(code + at);
  if (IsIn(operation, "\x63\x84\x85\x88\x89\x8a\x8b\x8d"sv)) return at + OperandBytes(code + at);
  if (IsIn(operation, "\x6b\x80\x83\xc0\xc1\xc6"sv)) return at + OperandBytes(code + at) + 1;
  if (IsIn(operation, "\x69\x81\xc7"sv)) return at + OperandBytes(code + at) + immediate;
  return 0;
}

// `and $-n,%rsp`: the code does not say by how much.
bool IsAlignment(const unsigned char* code) {
  return code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xe4;
}

// Whether it is `sub $n,%rsp` or `add $-n,%rsp`; if so, sets n and the length.
bool IsSubtraction(const unsigned char* code, uint64_t* bytes, size_t* length) {
  const bool is_byte = code[1] == 0x83;
  if (code[0] != 0x48 || (!is_byte && code[1] != 0x81)) return false;
  const int64_t value = is_byte ? Load<int8_t>(code + 3) : Load<int32_t>(code + 3);
  constexpr unsigned char kFromStackPointer = 0xec;
  constexpr unsigned char kToStackPointer = 0xc4;
  if (code[2] != kFromStackPointer && code[2] != kToStackPointer) return false;
  *bytes = static_cast<uint64_t>(code[2] == kFromStackPointer ? value : -value);
  *length = is_byte ? 4 : 7;
  return true;
}

}  // namespace

const bool kHasLinkRegister = false;

CallSite CallBefore(const unsigned char (&bytes)[kMaxCallBytes], uint64_t return_address) {
  const unsigned char* end = bytes + kMaxCallBytes;
  if (end[-5] == 0xe8) {
    return {CallSite::CallForm::kDirect,
            return_address + static_cast<uint64_t>(int64_t{Load<int32_t>(end - 4)})};
  }
  for (size_t size = 2; size <= 7; ++size) {
    if (IndirectCallBytes(end - size, size) == size) return {CallSite::CallForm::kIndirect, 0};
  }
  return {CallSite::CallForm::kNone, 0};
}

uint64_t JumpTarget(const unsigned char (&code)[kJumpBytes], uint64_t address) {
  constexpr unsigned char kJump = 0xe9;
  return code[0] == kJump ? address + kJumpBytes + static_cast<uint64_t>(int64_t{Load<int32_t>(code + 1)})
                          : 0;
}

bool IsBranchTo(const unsigned char (&code)[kBranchBytes], uint64_t address, uint64_t target) {
  const auto leads_there = [&](size_t size, int64_t distance) {
    return address + size + static_cast<uint64_t>(distance) == target;
  };
  if (code[0] == 0xeb || code[0] >> 4 == 7) return leads_there(2, static_cast<int8_t>(code[1]));
  if (code[0] == 0xe9) return leads_there(5, Load<int32_t>(code + 1));
  return code[0] == 0x0f && code[1] >> 4 == 8 && leads_there(6, Load<int32_t>(code + 2));
}

bool IsFunctionEnd(const unsigned char (&code)[kFunctionAlignment]) {
  // Of nops without and with displacement, behind any prefixes; debuggers' traps are padding, too.
  const auto padding_bytes = [&](size_t at) -> size_t {
    size_t end = at;
    while (end < sizeof code && (code[end] == 0x66 || code[end] == 0x2e)) ++end;
    if (end < sizeof code && (code[end] == 0x90 || code[end] == 0xcc)) return end + 1 - at;
    if (end + 3 > sizeof code || code[end] != 0x0f || code[end + 1] != 0x1f) return 0;
    return end + 2 + OperandBytes(code + end + 2) - at;
  };
  for (size_t i = 0; i < sizeof code; ++i) {
    if (code[i] != kReturn) continue;
    size_t end = i + 1;
    for (size_t size; end < sizeof code && (size = padding_bytes(end)) != 0;) end += size;
    if (end == sizeof code) return true;
  }
  return false;
}

uint64_t StubPointer(const unsigned char (&code)[kMaxCodeBytes], uint64_t address) {
  size_t at = SkipEndBranch(code);
  if (code[at] == 0xf2) ++at;  // bnd
  if (code[at] != 0xff || code[at + 1] != 0x25) return 0;
  return address + at + 6 + static_cast<uint64_t>(int64_t{Load<int32_t>(code + at + 2)});
}

bool DecodePrologue(const unsigned char (&code)[kMaxPrologueBytes], uint64_t* frame_bytes) {
  constexpr size_t kLongestInstruction = 15;
  size_t at = SkipEndBranch(code);
  if (code[at++] != kPushFramePointer) return false;
  bool has_frame_pointer = false;
  *frame_bytes = 0;
  while (at + kLongestInstruction < kMaxPrologueBytes) {
    const bool is_push = (code[at] & 0xf8) == 0x50;
    const bool is_extended_push = code[at] == 0x41 && (code[at + 1] & 0xf8) == 0x50;
    uint64_t bytes = 0;
    size_t length = 0;
    if (IsMoveToFramePointer(code + at)) {
      has_frame_pointer = true;
      length = 3;
    } else if (is_push || is_extended_push) {
      if (!has_frame_pointer) return false;
      *frame_bytes += 8;
      length = is_push ? 1 : 2;
    } else if (IsAlignment(code + at)) {
      return false;
    } else if (IsSubtraction(code + at, &bytes, &length)) {
      *frame_bytes += bytes;
      return has_frame_pointer;
    } else {
      length = MovedInstructionBytes(code + at);
    }
    if (length == 0) break;
    at += length;
  }
  return has_frame_pointer;
}

// mov %rdi,-0x18(%rbp), and so on; by `code` alone, whatever else is between.
size_t ArgumentPlaces(const unsigned char (&code)[kMaxPrologueBytes],
                      ArgumentPlace (&places)[kMaxArguments]) {
  constexpr unsigned char kMoveToMemory = 0x89;
  constexpr unsigned char kToFrame8 = 0x45;  // a displacement of one byte, or of four
  constexpr unsigned char kToFrame32 = 0x85;
  constexpr unsigned char kRegisterMask = 0x38;
  constexpr size_t kRoom = 64;
  size_t at = SkipEndBranch(code);
  if (code[at] != kPushFramePointer || !IsMoveToFramePointer(code + at + 1)) return 0;
  size_t count = 0;
  for (at += 4; at < kRoom && count < kMaxArguments; ++at) {
    const bool is_wide = (code[at] & 0xfb) == 0x48;  // REX.W, with R for r8 and r9
    const unsigned char* move = code + at + (is_wide ? 1 : 0);
    const unsigned char form = move[1] & static_cast<unsigned char>(~kRegisterMask);
    const unsigned number = (move[1] & kRegisterMask) >> 3;
    const bool is_argument = (code[at] & 0x04) != 0 && is_wide ? number < 2 : number != 0 && number != 3;
    if (move[0] != kMoveToMemory || (form != kToFrame8 && form != kToFrame32) || !is_argument) continue;
    const int32_t offset = form == kToFrame8 ? Load<int8_t>(move + 2) : Load<int32_t>(move + 2);
    places[count++] = {offset, !is_wide};
    at += is_wide ? 2 : 1;
  }
  return count;
}

FrameProgress ProgressAt(const unsigned char (&code)[kMaxCodeBytes]) {
  size_t at = SkipEndBranch(code);
  if (code[at] == kPushFramePointer || code[at] == kReturn) return FrameProgress::kNothingSaved;
  if (IsMoveToFramePointer(code)) return FrameProgress::kReturnSavedBelow;
  return FrameProgress::kHasFramePointer;
}

}  // namespace lagwatch::stack
