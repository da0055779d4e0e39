// SPDX-License-Identifier: Apache-2.0
#include "stack/code/code_snapshot.h"

#include <algorithm>

namespace lagwatch::stack {
namespace {

// Release and acquire on every word: a reader that sees a word of a newer writing also sees that the copy's
// generation is over.
uint64_t LoadWord(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void StoreWord(uint64_t value, uint64_t* word) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

}  // namespace

void CodeSnapshot::Publish(const ModuleMap& modules) {
  uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;  // written by us alone
  if (generation == 0) generation = 2;                                    // 0 is none, and parity goes on
  Copy& copy = copies_[generation % 2];
  copy.generation.store(0, std::memory_order_relaxed);  // ordered by the next store
  size_t count = 0;
  const size_t room = copy.ranges == nullptr ? 0 : size_t{ModuleMap::kMaxRanges};
  for (const ModuleMap::CodeRange& range : modules.code().first(std::min(modules.code().size(), room))) {
    Range& place = copy.ranges[count++];
    StoreWord(range.begin, &place.begin);
    StoreWord(range.end, &place.end);
    StoreWord(range.load_bias, &place.load_bias);
    StoreWord(range.module, &place.module);
  }
  copy.range_count.store(static_cast<uint32_t>(count), std::memory_order_release);
  copy.generation.store(generation, std::memory_order_release);
  generation_.store(generation, std::memory_order_release);
}

void CodeSnapshot::PublishMainStack(const MemoryRegion& region) {
  main_stack_begin_.store(region.begin, std::memory_order_relaxed);
  main_stack_end_.store(region.end, std::memory_order_relaxed);
}

CodeSnapshot::Found CodeSnapshot::Find(uint64_t address, uint32_t generation, CodePlace* place) const {
  const Copy& copy = copies_[generation % 2];
  if (copy.generation.load(std::memory_order_acquire) != generation) return Found::kChanged;
  size_t low = 0;
  const size_t count = copy.range_count.load(std::memory_order_acquire);
  size_t high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (LoadWord(copy.ranges[middle].end) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  Found found = Found::kNothing;
  if (low < count && LoadWord(copy.ranges[low].begin) <= address) {
    *place = {static_cast<uint32_t>(LoadWord(copy.ranges[low].module)), LoadWord(copy.ranges[low].load_bias)};
    found = place->module == kNoModule ? Found::kOtherCode : Found::kModule;
  }
  // Relaxed: the last word read was read before.
  return copy.generation.load(std::memory_order_relaxed) == generation ? found : Found::kChanged;
}

}  // namespace lagwatch::stack
