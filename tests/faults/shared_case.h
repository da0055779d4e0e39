// SPDX-License-Identifier: Apache-2.0
// State shared by the processes of a case: the clock, and the notes that outlive a killed process.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "base/clock.h"
#include "tests/faults/disk_model.h"

namespace lagwatch::faults {

// The progress of a planned record.
enum class Made : uint8_t {
  kNotYet,
  kBegun,    // the process was killed before it knew
  kRefused,  // dropped by the writer, which said so
  kOnDisk,   // acknowledged
  kSynced,   // and the disk is known to have it
};

struct SharedCase {
  static constexpr size_t kMaxRecords = 256;

  std::atomic<int64_t> wall_ms;
  std::atomic<int64_t> mono_ns;
  std::array<std::atomic<Made>, kMaxRecords> made;
  std::atomic<bool> is_power_cut;
  char problem[512];  // of a process, for a person; empty when there is none
  DiskModel disk;
};

// Lives as long as the mapping of the process that made it, and of its children.
class SharedMemory {
 public:
  SharedMemory()
      : at_(mmap(nullptr, sizeof(SharedCase), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    new (at_) SharedCase;
  }
  ~SharedMemory() { munmap(at_, sizeof(SharedCase)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  SharedCase* get() { return static_cast<SharedCase*>(at_); }

 private:
  void* at_;
};

// Advances only in waits, which take no time.
class SharedClock final : public base::Clock {
 public:
  explicit SharedClock(SharedCase* shared) : shared_(shared) {}
  int64_t MonoNs() const override { return shared_->mono_ns; }
  int64_t BootNs() const override { return shared_->mono_ns; }
  int64_t WallMs() const override { return shared_->wall_ms; }
  void Wait(int64_t ms) {
    shared_->wall_ms += ms;
    shared_->mono_ns += ms * base::kNsPerMs;
  }

 private:
  SharedCase* shared_;
};

}  // namespace lagwatch::faults
