// SPDX-License-Identifier: Apache-2.0
// The content of a block of kind kCalls: words of 64 bits, in the order in which the thread wrote them.
//
//   bits 0-31   ticks since the block's base, modulo 2^32; by the coarse clock, the clock itself, modulo 2^32
//   bits 32-60  address less a base: the block's code_base, or the far base if bit 61 is set
//   bit 62      the address is that of a name (a string), not of a function
//   bit 63      entered; else left
//
// A word whose bits 32-60 are all set is a note on the words after it, of the kind in bits 61-63: the far
// base, the number of times that the ticks have wrapped, or that this block's clock is the coarse one. So
// neither a call from the program's code, at 0x55…, into a library's, at 0x7f…, nor a thread that sleeps
// between its calls costs a block. Context: any.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

struct CallEventWord {
  static constexpr int kAddressShift = 32;
  static constexpr uint64_t kAddressMask =
      (uint64_t{1} << 29) - 1;  // after the shift; the highest is no address
  static constexpr uint64_t kIsFar = uint64_t{1} << 61;
  static constexpr uint64_t kIsName = uint64_t{1} << 62;
  static constexpr uint64_t kIsEnter = uint64_t{1} << 63;
  static constexpr uint64_t kNoteMark = kAddressMask << kAddressShift;

  // Notes; bits 0-31 are the value.
  static constexpr uint64_t kFarBaseNote = kNoteMark | kIsFar;  // the far base, shifted by kBaseShift
  static constexpr uint64_t kWrapsNote = kNoteMark | kIsName;   // multiples of 2^32 to add to the ticks
  static constexpr uint64_t kCoarseNote = kNoteMark | kIsFar | kIsName;
  static constexpr uint64_t kNoteKind = ~uint64_t{0} << kAddressShift;
  static constexpr int kBaseShift = 16;

  // The coarse clock is the tick counter without so many bits: 32 of them last for a day.
  static constexpr int kCoarseShift = 16;

  // A base from which `address` and as much as possible around it can be reached.
  static constexpr uint64_t BaseAround(uint64_t address) {
    const uint64_t reach = kAddressMask / 2;
    const uint64_t low = address > reach ? address - reach : 0;
    return low >> kBaseShift << kBaseShift;
  }
};

}  // namespace lagwatch::trace
