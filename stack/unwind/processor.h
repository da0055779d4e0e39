// SPDX-License-Identifier: Apache-2.0
// What a walk must know of the processor's code, for places that no unwind table tells of. Implemented once
// per architecture, chosen by CMake. Context: watchdog.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack/raw_stack.h"

namespace lagwatch::stack {

// The longest run of code bytes that the functions below look at.
inline constexpr size_t kMaxCodeBytes = 32;

struct CallSite {
  enum class Kind : uint8_t { kNone, kDirect, kIndirect };
  Kind kind;
  uint64_t target;  // of a direct call
};

// Which call ends right before `return_address`. `bytes` are the kMaxCallBytes before it.
inline constexpr size_t kMaxCallBytes = 8;
CallSite CallBefore(const unsigned char (&bytes)[kMaxCallBytes], uint64_t return_address);

// Where a linkage stub's jump finds its target: the address of the pointer. 0 when the code at `address` is
// no such stub.
uint64_t StubPointer(const unsigned char (&code)[kMaxCodeBytes], uint64_t address);

// How far the stack pointer is below the frame pointer once the prologue at `code`, a function's start, is
// over. False when it sets up no frame pointer, or is not understood.
bool DecodePrologue(const unsigned char (&code)[kMaxCodeBytes], uint64_t* frame_bytes);

// How far a function that keeps a frame pointer has come, told by its next instruction.
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
// How far above the stack pointer the kernel put register `dwarf_register`, at such a call.
uint64_t SignalFrameOffset(int dwarf_register);

// A return address as the call saved it, without its signature (arm64 pointer authentication).
inline uint64_t StripSignature(uint64_t return_address) { return return_address & Registers::kAddressMask; }

// Whether a call leaves the return address in a register, which a leaf function need not save.
extern const bool kHasLinkRegister;

}  // namespace lagwatch::stack
