// SPDX-License-Identifier: Apache-2.0
// The operations of a probe that are more than a few instructions. Those that return a bool return false if
// the hit ends. Context: signal, hot.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/run/frame.h"

namespace lagwatch::probe {

// The value of the hit; at its places none is missing, except that a text may be null.
uint64_t ValueOf(Frame& frame, HitValue value);

// A word of the process; false if it cannot be read. Bytes beyond `size` are 0.
bool ReadWord(const Frame& frame, uint64_t address, size_t size, uint64_t* word);
bool EqualsText(Frame& frame, uint64_t address, const char* text);
bool MatchesText(Frame& frame, uint64_t address, const char* pattern);

bool PassesAdaptiveSample(Frame& frame, Counter& counter, uint32_t per_second);
// Whether one more is within `per_second`, by the window's word.
bool IsWithinRate(Frame& frame, Word& window, uint32_t per_second);

// The number of a stack of the block, or 0.
uint64_t CaptureStack(Frame& frame, uint32_t most);
void AddTo(Frame& frame, const AggregateTable& table, uint8_t key, uint8_t value);
void PrintRecord(Frame& frame, uint32_t print, uint8_t first);

}  // namespace lagwatch::probe
