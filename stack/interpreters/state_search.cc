// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/state_search.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::stack {

void StateSearch::Collect(const RawStack& raw, const StackRegions& memory) {
  count_ = 0;
  seen_.fill(0);
  const Registers& registers = raw.registers;
  for (int i = 0; i < Registers::kCount; ++i) {
    if (registers.is_known(i)) Add(registers.value[i], raw, memory);
  }
  const uint64_t copied_end = std::min(raw.end, raw.address + raw.size_bytes);
  uint64_t address = std::max((registers.stack_pointer() + 7) & ~uint64_t{7}, raw.address);
  for (const uint64_t end = std::min(copied_end, address + kMostStackBytes); address + 8 <= end;
       address += 8) {
    uint64_t word = 0;
    std::memcpy(&word, &raw.bytes[address - raw.address], sizeof word);
    Add(word, raw, memory);
  }
}

void StateSearch::Add(uint64_t address, const RawStack& raw, const StackRegions& memory) {
  const bool is_on_stack = address >= raw.address && address < raw.end;
  if (address < 4096 || address % 8 != 0 || is_on_stack || count_ == kMost) return;
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  size_t place = (address * kMultiplier >> 32) % kPlaces;
  while (seen_[place] != 0 && seen_[place] != address) place = (place + 1) % kPlaces;
  if (seen_[place] == address || FindRegion(address, memory.regions, memory.count) == nullptr) return;
  seen_[place] = address;
  candidates_[count_++] = address;
}

}  // namespace lagwatch::stack
