// SPDX-License-Identifier: Apache-2.0
// The memory that interpreters' data is read from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process/process.h"

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
  // Whether reads see the memory as it is now, not as it was when a thread was sampled.
  virtual bool is_present() const { return true; }

 protected:
  virtual bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) = 0;

 private:
  uint64_t read_count_ = 0;
};

// A process's, as it is at the moment of the read.
class PresentMemory final : public Memory {
 public:
  explicit PresentMemory(const base::Process& process) : process_(process) {}
  void MoveTo(const base::Process& process) { process_ = process; }

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    return address != 0 && process_.Read(address, destination, size_bytes) == size_bytes;
  }

 private:
  base::Process process_;
};

}  // namespace lagwatch::stack
