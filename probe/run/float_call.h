// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers at hits, which run with the program's values in the vector registers: all else is
// built without these (see CMakeLists.txt), and only this pays for keeping them. Context: signal, hot.
#pragma once

#include <cstdint>

#include "probe/block.h"

namespace lagwatch::probe {

using FloatCall = uint64_t (*)(uint64_t, uint64_t, uint64_t);

// Calls `function`, which is built for plain x86-64 and calls nothing that is not. Keeps the low half of each
// vector register (no such instruction changes the rest) and MXCSR, which is the processor's initial one
// meanwhile: with no traps.
__attribute__((visibility("hidden"))) uint64_t CallWithFloats(
    uint64_t first, uint64_t second, uint64_t third, FloatCall function) asm("lagwatch_call_with_floats");

// Adds `weight` times the double of these bits to the double in the word; false if other threads foil it.
// Keeps the registers likewise.
bool AddFloatTo(Word& word, uint64_t bits, uint64_t weight);

}  // namespace lagwatch::probe
