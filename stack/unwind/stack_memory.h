// SPDX-License-Identifier: Apache-2.0
// The words of a caught thread's stack: out of the copy where they are in it, else, fault-proof,
// out of memory as it is now (a signal handler's frames may lie on another stack). Context:
// watchdog; not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/process/process.h"
#include "stack/frames/raw_stack.h"

namespace lagwatch::stack {

class StackMemory {
 public:
  // Borrows `raw`.
  StackMemory(const base::Process& process, const RawStack& raw)
      : process_(process),
        bytes_(raw.bytes),
        address_(raw.address),
        word_room_(raw.size_bytes),
        end_(raw.end) {
    word_room_ = word_room_ < sizeof(uint64_t) ? 0 : word_room_ - sizeof(uint64_t) + 1;
  }

  bool ReadWord(uint64_t address, uint64_t* word) {
    return ReadCopiedWord(address, word) || ReadElsewhere(address, word);
  }
  // False outside of the copy.
  bool ReadCopiedWord(uint64_t address, uint64_t* word) const {
    uint64_t at = address - address_;
    if (at >= word_room_) [[unlikely]]
      return false;
    std::memcpy(word, bytes_ + at, sizeof *word);
    return true;
  }
  // A word of the live stack was asked for that did not fit into the copy.
  bool has_left_copy() const { return has_left_copy_; }
  // A word was read that the thread may have overwritten since it was caught.
  bool has_read_live_memory() const { return has_read_live_memory_; }
  // The end of the live stack.
  uint64_t end() const { return end_; }

 private:
  // Each is a system call. Enough for a handler's thousands of frames on a stack of its own.
  static constexpr uint32_t kMaxLiveReads = 1 << 16;

  [[gnu::noinline]] bool ReadElsewhere(uint64_t address, uint64_t* word) {
    if (address >= address_ && address < end_) {
      has_left_copy_ = true;
      return false;
    }
    has_read_live_memory_ = true;
    return live_read_count_++ < kMaxLiveReads && process_.ReadValue(address, word);
  }

  base::Process process_;
  const char* bytes_;
  uint64_t address_;
  uint64_t word_room_;  // words can begin at so many of the copy's bytes
  uint64_t end_;
  uint32_t live_read_count_ = 0;
  bool has_left_copy_ = false;
  bool has_read_live_memory_ = false;
};

}  // namespace lagwatch::stack
