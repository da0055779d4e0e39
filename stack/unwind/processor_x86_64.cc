// SPDX-License-Identifier: Apache-2.0
#include <cstring>

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

// The length of `call *operand` with this ModRM byte, without a prefix; 0 if it is not such a call, or
// longer than `room`.
size_t IndirectCallBytes(const unsigned char* code, size_t room) {
  constexpr unsigned char kGroup5 = 0xff;
  unsigned mod = code[1] >> 6;
  unsigned operation = code[1] >> 3 & 7;
  unsigned rm = code[1] & 7;
  constexpr unsigned kCall = 2;
  if (code[0] != kGroup5 || operation != kCall) return 0;
  if (mod == 3) return 2;
  if (rm == 4 && room < 3) return 0;
  size_t size = 2 + (rm == 4 ? 1 : 0);
  if (mod == 1) return size + 1;
  if (mod == 2 || rm == 5) return size + 4;
  return rm == 4 && (code[2] & 7) == 5 ? size + 4 : size;
}

}  // namespace

const bool kHasLinkRegister = false;

CallSite CallBefore(const unsigned char (&bytes)[kMaxCallBytes], uint64_t return_address) {
  const unsigned char* end = bytes + kMaxCallBytes;
  if (end[-5] == 0xe8) {
    return {CallSite::Kind::kDirect, return_address + static_cast<uint64_t>(int64_t{Load<int32_t>(end - 4)})};
  }
  for (size_t size = 2; size <= 7; ++size) {
    if (IndirectCallBytes(end - size, size) == size) return {CallSite::Kind::kIndirect, 0};
  }
  return {CallSite::Kind::kNone, 0};
}

uint64_t StubPointer(const unsigned char (&code)[kMaxCodeBytes], uint64_t address) {
  size_t at = SkipEndBranch(code);
  if (code[at] == 0xf2) ++at;  // bnd
  if (code[at] != 0xff || code[at + 1] != 0x25) return 0;
  return address + at + 6 + static_cast<uint64_t>(int64_t{Load<int32_t>(code + at + 2)});
}

bool DecodePrologue(const unsigned char (&code)[kMaxCodeBytes], uint64_t* frame_bytes) {
  size_t at = SkipEndBranch(code);
  if (code[at] != kPushFramePointer || !IsMoveToFramePointer(code + at + 1)) return false;
  at += 4;
  *frame_bytes = 0;
  while (at + 8 < kMaxCodeBytes) {
    bool is_push = (code[at] & 0xf8) == 0x50;
    bool is_extended_push = code[at] == 0x41 && (code[at + 1] & 0xf8) == 0x50;
    if (!is_push && !is_extended_push) break;
    *frame_bytes += 8;
    at += is_push ? 1 : 2;
  }
  bool is_subtract =
      code[at] == 0x48 && (code[at + 1] == 0x83 || code[at + 1] == 0x81) && code[at + 2] == 0xec;
  if (is_subtract) *frame_bytes += code[at + 1] == 0x83 ? code[at + 3] : Load<uint32_t>(code + at + 3);
  return true;
}

FrameProgress ProgressAt(const unsigned char (&code)[kMaxCodeBytes]) {
  size_t at = SkipEndBranch(code);
  if (code[at] == kPushFramePointer || code[at] == kReturn) return FrameProgress::kNothingSaved;
  if (IsMoveToFramePointer(code)) return FrameProgress::kReturnSavedBelow;
  return FrameProgress::kHasFramePointer;
}

}  // namespace lagwatch::stack
