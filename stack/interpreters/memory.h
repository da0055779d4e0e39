// SPDX-License-Identifier: Apache-2.0
// The memory that interpreters' data is read from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process/safe_memory.h"

namespace lagwatch::stack {

// Reads fail instead of faulting: the program may change or free anything meanwhile, so nothing that was read
// is to be trusted. Counts reads, because each is a system call. Context: watchdog.
class Memory {
 public:
  virtual ~Memory() = default;

  // False unless all of it could be read.
  bool Read(uint64_t address, void* destination, size_t size_bytes) {
    ++read_count_;
    return ReadBytes(address, destination, size_bytes);
  }
  template <typename T>
  bool Read(uint64_t address, T* value) {
    return Read(address, value, sizeof *value);
  }
  uint64_t read_count() const { return read_count_; }

 protected:
  virtual bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) = 0;

 private:
  uint64_t read_count_ = 0;
};

// The watched process's (base/process/watched_process.h).
class WatchedMemory final : public Memory {
 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    return address != 0 && base::ReadWatchedMemory(address, destination, size_bytes) == size_bytes;
  }
};

}  // namespace lagwatch::stack
