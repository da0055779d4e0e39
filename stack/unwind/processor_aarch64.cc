// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "stack/unwind/processor.h"

namespace lagwatch::stack {
namespace {

uint32_t Instruction(const unsigned char* code) {
  uint32_t instruction;
  std::memcpy(&instruction, code, sizeof instruction);
  return instruction;
}

// paciasp, pacibsp and bti: they change nothing that a walk looks at.
bool IsHint(uint32_t instruction) { return (instruction & 0xfffff01f) == 0xd503201f; }
// stp x29, x30, [sp, #-n]!
bool IsPushFrame(uint32_t instruction) { return (instruction & 0xffc07fff) == 0xa9807bfd; }
bool IsReturn(uint32_t instruction) {
  return instruction == 0xd65f03c0 || instruction == 0xd65f0bff || instruction == 0xd65f0fff;
}

}  // namespace

const bool kHasLinkRegister = true;

CallSite CallBefore(const unsigned char (&bytes)[kMaxCallBytes], uint64_t return_address) {
  uint32_t instruction = Instruction(bytes + kMaxCallBytes - 4);
  if (instruction >> 26 == 0x25) {  // bl
    int64_t words = static_cast<int32_t>(instruction << 6) >> 6;
    return {CallSite::CallForm::kDirect, return_address - 4 + static_cast<uint64_t>(words * 4)};
  }
  bool is_register_call = (instruction & 0xfffffc1f) == 0xd63f0000 ||  // blr
                          (instruction & 0xfefff800) == 0xd63f0800;    // blraa, blrab and their zero forms
  return {is_register_call ? CallSite::CallForm::kIndirect : CallSite::CallForm::kNone, 0};
}

// Return addresses are not where a frame ends, so no caller is found by one.
uint64_t JumpTarget(const unsigned char (&)[kJumpBytes], uint64_t) { return 0; }

bool IsBranchTo(const unsigned char (&)[kBranchBytes], uint64_t, uint64_t) { return false; }

bool IsFunctionEnd(const unsigned char (&)[kFunctionAlignment]) { return false; }

uint64_t StubPointer(const unsigned char (&)[kMaxCodeBytes], uint64_t) { return 0; }

// Compilers for arm64 save the frame pointer in every function that calls, so there is nothing to recover.
bool DecodePrologue(const unsigned char (&)[kMaxPrologueBytes], uint64_t*) { return false; }

size_t ArgumentPlaces(const unsigned char (&)[kMaxPrologueBytes], ArgumentPlace (&)[kMaxArguments]) {
  return 0;
}

FrameProgress ProgressAt(const unsigned char (&code)[kMaxCodeBytes]) {
  const unsigned char* at = code;
  while (at < code + 8 && IsHint(Instruction(at))) at += 4;
  if (IsPushFrame(Instruction(at)) || IsReturn(Instruction(at))) return FrameProgress::kNothingSaved;
  constexpr uint32_t kMoveToFramePointer = 0x910003fd;
  if (Instruction(code) == kMoveToFramePointer) return FrameProgress::kReturnSavedBelow;
  return FrameProgress::kHasFramePointer;
}

}  // namespace lagwatch::stack
