// SPDX-License-Identifier: Apache-2.0
// The loaded code, for readers that must not wait: a copy of a module map's code ranges that is replaced
// as a whole.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/process/own_memory.h"
#include "stack/code/module_map.h"

namespace lagwatch::stack {

// Thread safety: Publish from one thread at a time, the rest from any at once, wait-free. Invariants:
// - There are two copies, and the one of a generation's parity is its own. A copy's generation is 0 while it
//   is written, so what was read of it holds if its generation is the same afterwards.
// - Nothing is ever freed: a reader that was put off may still look at the older copy.
class CodeSnapshot {
 public:
  struct CodePlace {
    uint32_t module;
    uint64_t load_bias;
  };
  enum class Found : uint8_t {
    kModule,
    kOtherCode,  // made at run time
    kNothing,
    kChanged,  // the generation is over
  };

  // Of `modules`, as they are now. Context: watchdog.
  void Publish(const ModuleMap& modules);
  // Publishes the main thread's stack. Context: watchdog.
  void PublishMainStack(const MemoryRegion& region);

  // 0 before the first.
  uint32_t generation() const {
    return generation_.load(std::memory_order_acquire);  // pairs with Publish()
  }
  // The module whose code is at `address`. Context: any, signal included.
  Found Find(uint64_t address, uint32_t generation, CodePlace* place) const;
  // Context: any, signal included.
  MemoryRegion main_stack() const {
    // Relaxed: it only grows, and an older one is as true.
    return {main_stack_begin_.load(std::memory_order_relaxed),
            main_stack_end_.load(std::memory_order_relaxed)};
  }

 private:
  struct Range {  // read and written atomically, word by word
    uint64_t begin;
    uint64_t end;
    uint64_t load_bias;
    uint64_t module;
  };
  struct Copy {
    std::atomic<uint32_t> generation{0};
    std::atomic<uint32_t> range_count{0};
    base::MappedBlock<Range> ranges = base::MapKeptBlock<Range>(ModuleMap::kMaxRanges);
  };

  Copy copies_[2];
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint64_t> main_stack_begin_{0};
  std::atomic<uint64_t> main_stack_end_{0};
};

}  // namespace lagwatch::stack
