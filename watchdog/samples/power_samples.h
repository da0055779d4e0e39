// SPDX-License-Identifier: Apache-2.0
// The stacks of a process's busy threads over a window of time, each with the CPU time that was used there.
// Equal stacks are one. Readers of a report merge them into a tree, innermost functions first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/process/mapped_memory.h"
#include "policies/cpu_load.h"
#include "stack/frames/stack.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

// Context: watchdog; not thread-safe.
class PowerSamples {
 public:
  static constexpr size_t kMaxStacks = 64;

  // Context: background; allocates all that will be needed, but touches none of it.
  PowerSamples();
  // False when there was no memory.
  bool ok() const { return entries_ != nullptr; }

  void Clear();
  // A slice of the window begins; what the oldest one saw is forgotten.
  void BeginSlice();
  // Thread `tid` was found running at `stack`, after it had used `cpu_ns`, which count in the current slice.
  // When there are too many stacks, the lightest makes room.
  void Add(int32_t tid, const stack::Stack& stack, int64_t cpu_ns, int64_t now_ns);
  // It was found asleep, which is not where it used them: they count for where it next is found running, if
  // that is within a window.
  void AddAsleep(int32_t tid, int64_t cpu_ns);

  bool empty() const { return count_ == 0; }
  // The heaviest first, with their CPU time as `use`. Valid until the next change.
  std::span<const LoopSample* const> Heaviest();
  // CPU time of stacks that had to make room since Clear().
  int64_t left_out_ns() const { return left_out_ns_; }
  // CPU time of threads that were found asleep, and not running since.
  int64_t asleep_ns() const;

 private:
  // Plain data, as large arrays of it must not be touched.
  struct CountedSample {
    uint64_t hash;
    int64_t total_ns;
    int64_t slice_ns[policies::CpuWindow::kSlices];
    LoopSample sample;
  };

  // CPU time of a thread that was found asleep.
  struct Pending {
    int32_t tid;
    int64_t cpu_ns;
    uint64_t slice_number;  // of the first of it
  };
  static constexpr size_t kMaxPending = 32;

  int64_t TakePending(int32_t tid);
  size_t Find(uint64_t hash) const;
  size_t TakePlace();
  void RemoveAt(size_t place);

  base::MappedBlock<CountedSample> entries_;
  // The places in use come first, in no order.
  std::array<uint8_t, kMaxStacks> places_;
  std::array<const LoopSample*, kMaxStacks> heaviest_;
  size_t count_ = 0;
  std::array<Pending, kMaxPending> pending_;
  size_t pending_count_ = 0;
  uint64_t slice_number_ = 0;
  int64_t left_out_ns_ = 0;
};

}  // namespace lagwatch::watchdog
