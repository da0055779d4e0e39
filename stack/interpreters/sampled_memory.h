// SPDX-License-Identifier: Apache-2.0
// This process's memory as a sampled thread left it: pieces that the thread copied when it was sampled come
// before what is there by now.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"

namespace lagwatch::stack {

// Reads the rest (functions, their names and lines) by pages if the pieces hold all that changes, and keeps
// those for a moment: one sample after the other needs the same ones.
//
// Context: watchdog; not thread-safe.
class SampledMemory final : public Memory {
 public:
  // From here on reads see `pieces`, borrowed, until the next call; null: the present memory. `now_ns`: the
  // time, CLOCK_MONOTONIC.
  void Use(const MemoryPieces* pieces, int64_t now_ns);
  // The number of reads that needed a system call.
  uint64_t call_count() const { return call_count_; }
  bool is_present() const override { return pieces_ == nullptr; }

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override;

 private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kPages = 512;
  // As long as a sample waits to be read at most, which may be as old as that anyway.
  static constexpr int64_t kPageAgeNs = 200'000'000;

  struct Page {
    uint64_t number;  // its address by kPageBytes; 0: free
    uint64_t period;  // in which it was read
    uint8_t bytes[kPageBytes];
  };
  // Null if it cannot be read.
  const Page* Find(uint64_t number);

  const MemoryPieces* pieces_ = nullptr;
  base::MappedBlock<Page> pages_;  // taken at the first use
  uint64_t period_ = 0;
  uint64_t call_count_ = 0;
};

}  // namespace lagwatch::stack
