// SPDX-License-Identifier: Apache-2.0
// The stacks of a process's busy threads over a window of time, each with the CPU time that was used there.
// Equal stacks are one. Readers of a report merge them into a tree, innermost functions first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "policies/cpu_load.h"
#include "stack/stack.h"
#include "watchdog/hang_sink.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe.
class PowerSamples {
 public:
  static constexpr size_t kMaxStacks = 64;

  // Context: background; allocates all that will be needed, but touches none of it.
  PowerSamples();

  void Clear();
  // A slice of the window begins; what the oldest one saw is forgotten.
  void BeginSlice();
  // In the current slice `cpu_ns` were used at `stack`, seen at `now_ns`. When there are too many stacks, the
  // lightest makes room.
  void Add(const stack::Stack& stack, int64_t cpu_ns, int64_t now_ns);

  bool empty() const { return count_ == 0; }
  // The heaviest first, with their CPU time as `use`. Valid until the next change.
  std::span<const LoopSample* const> Heaviest();
  // CPU time of stacks that had to make room since Clear().
  int64_t left_out_ns() const { return left_out_ns_; }

 private:
  // Plain data, as large arrays of it must not be touched.
  struct Entry {
    uint64_t hash;
    int64_t total_ns;
    int64_t slice_ns[policies::CpuWindow::kSlices];
    LoopSample sample;
  };

  size_t Find(uint64_t hash) const;
  size_t TakePlace();
  void RemoveAt(size_t place);

  std::unique_ptr<Entry[]> entries_;
  // The places in use come first, in no order.
  std::array<uint8_t, kMaxStacks> places_;
  std::array<const LoopSample*, kMaxStacks> heaviest_;
  size_t count_ = 0;
  size_t slice_ = 0;
  int64_t left_out_ns_ = 0;
};

}  // namespace lagwatch::watchdog
