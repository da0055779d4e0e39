// SPDX-License-Identifier: Apache-2.0
// The ways in which a function can be probed, and the reasons why it cannot. Context: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::trace {

// The way in which a function's first bytes lead to its probe, the one with the least changes first.
enum class ProbeTier : uint8_t {
  kNone,         // refused
  kImports,      // slots of import tables lead to it: no code is changed
  kOneByte,      // a jump whose displacement are the bytes that are there: one byte is changed
  kInstruction,  // a jump in the place of one instruction, whose page is exchanged for a changed copy
  kHop,          // the same with a short jump to a long one, in the padding behind a function
};

// One row a reason; ProbeReasonText() has the sentences.
enum class ProbeReason : uint8_t {
  kNone,                // armed, or could be
  kNotSupported,        // this processor, or a hardware shadow stack
  kNotPermitted,        // the system refused to write code, or to map it
  kNotCode,             // no function of a loaded file's begins there
  kExcludedModule,      // the loader, the unwinder, lagwatch itself, a Go program, a sanitizer's runtime
  kExcludedFunction,    // returns twice, starts a thread or process, or switches stacks
  kNoUnwindTable,       // without an entry of its own in the module's unwind table
  kUnusualFrame,        // its return address is not on top of the stack: a part of another function
  kUnknownInstruction,  // its first instruction cannot be moved, or was not understood
  kLoopsToStart,        // a branch inside of it goes to its first instruction
  kReadsReturnAddress,  // a probe of its return would be seen
  kChanged,             // its bytes are not its file's: another tool has patched it
  kOutOfReach,          // no free memory where a jump could go
  kMeetsProbe,          // a jump would have bytes of another one that is in force
  kNotImported,         // no import table leads to it
  kTooManyProbes,       // kMaxProbesPerFunction, or no memory
};
std::string_view ProbeReasonText(ProbeReason reason);
std::string_view ProbeTierText(ProbeTier tier);

inline constexpr size_t kMaxProbesPerFunction = 8;

}  // namespace lagwatch::trace
