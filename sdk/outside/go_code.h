// SPDX-License-Identifier: Apache-2.0
// Code of programs in Go. The Go runtime's scheduler gives its threads work as it likes: whichever has
// nothing to do waits for descriptors or parks, and goroutines go on in others. So no loop is any thread's
// own, and what a thread does between two of these waits delays no other goroutine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/process/process.h"

namespace lagwatch::sdk {

// Of one process. Thread safety: one thread's. Context: background.
class GoCode {
 public:
  explicit GoCode(const base::Process& process) : process_(process) {}

  // Whether the code at `address` was compiled by Go, as far as its file's headers in memory say; a library
  // in C that is linked dynamically was not. Remembers what it has found.
  bool Holds(uint64_t address);

 private:
  struct Known {
    uint64_t begin;
    uint64_t end;
    bool is_go;
  };
  Known Find(uint64_t address) const;

  base::Process process_;
  std::vector<Known> known_;  // mappings that addresses were asked of
};

}  // namespace lagwatch::sdk
