// SPDX-License-Identifier: Apache-2.0
// The processor-specific knowledge of code that a walk needs in places without an unwind table. Implemented
// once per architecture, chosen by CMake. Context: watchdog.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {

// The longest run of code bytes that the functions below look at.
inline constexpr size_t kMaxCodeBytes = 32;

struct CallSite {
  enum class CallForm : uint8_t { kNone, kDirect, kIndirect };
  CallForm kind;
  uint64_t target;  // of a direct call
};

// The call that ends right before `return_address`. `bytes` are the kMaxCallBytes before it.
inline constexpr size_t kMaxCallBytes = 8;
CallSite CallBefore(const unsigned char (&bytes)[kMaxCallBytes], uint64_t return_address);

// The target of the jump that `code`, at `address`, may be, in the form that leads to another function; 0 if
// it is no jump.
inline constexpr size_t kJumpBytes = 5;
uint64_t JumpTarget(const unsigned char (&code)[kJumpBytes], uint64_t address);

// Whether `code`, at `address`, may be a branch to `target`, conditional or not.
inline constexpr size_t kBranchBytes = 6;
bool IsBranchTo(const unsigned char (&code)[kBranchBytes], uint64_t address, uint64_t target);

// Whether a function ends in `code`, with no more behind it than the padding before the next one.
inline constexpr size_t kFunctionAlignment = 16;
bool IsFunctionEnd(const unsigned char (&code)[kFunctionAlignment]);

// The address of the pointer that a linkage stub's jump takes its target from. 0 if the code at `address` is
// no such stub.
uint64_t StubPointer(const unsigned char (&code)[kMaxCodeBytes], uint64_t address);

// The distance of the stack pointer below the frame pointer once the prologue at `code`, a function's start,
// is over; compilers move other instructions in between. Returns false if it sets up no frame pointer, or is
// not understood.
inline constexpr size_t kMaxPrologueBytes = 96;
bool DecodePrologue(const unsigned char (&code)[kMaxPrologueBytes], uint64_t* frame_bytes);

// The places, relative to the frame pointer, in which the prologue at `code` stores its arguments, as
// compilers do without optimization. Returns how many there are.
struct ArgumentPlace {
  int32_t offset;
  bool is_32_bit;
};
inline constexpr size_t kMaxArguments = 6;
size_t ArgumentPlaces(const unsigned char (&code)[kMaxPrologueBytes], ArgumentPlace (&places)[kMaxArguments]);

// The progress of a function that keeps a frame pointer, according to its next instruction.
enum class FrameProgress : uint8_t {
  kNothingSaved,      // at its first instruction, or at its return
  kReturnSavedBelow,  // frame pointer pushed: {frame pointer, return address} are at the stack pointer
  kHasFramePointer,
};
FrameProgress ProgressAt(const unsigned char (&code)[kMaxCodeBytes]);

// Whether `code` are the two instructions that end a signal handler: the number of the system call, and the
// call itself, which is so many bytes further.
extern const uint64_t kSignalReturnCallOffset;
bool IsSignalReturn(const unsigned char (&code)[kMaxCodeBytes]);
// The offset from the stack pointer at which the kernel put register `dwarf_register`, at such a call.
uint64_t SignalFrameOffset(int dwarf_register);

// A return address as the call saved it, without its signature (arm64 pointer authentication).
inline uint64_t StripSignature(uint64_t return_address) { return return_address & Registers::kAddressMask; }

// Whether a call leaves the return address in a register, which a leaf function need not save.
extern const bool kHasLinkRegister;

}  // namespace lagwatch::stack
