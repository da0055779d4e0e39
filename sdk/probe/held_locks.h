// SPDX-License-Identifier: Apache-2.0
// The locks that threads hold at the moment, with the time since when: a fixed table, so that a hit allocates
// nothing.
//
// Thread safety: any thread, wait-free; the owner of a lock alone reads and writes its entry, and the lock
// orders its owners. Invariant: an entry's `lock` is 0 if it is free.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/process/mapped_memory.h"

namespace lagwatch::sdk {

class HeldLocks {
 public:
  struct Held {
    uint64_t since_ticks = 0;
    uint64_t waited_ticks = 0;
  };

  // The calling thread, `owner`, has taken the lock at this address; once more if it has it already and the
  // lock is recursive. Else an earlier entry of the lock is of an owner whose letting it go was not seen, and
  // is replaced. A lock for which there is no room is left out and counted. Context: hot.
  void Take(uint64_t lock, uint32_t owner, bool is_recursive, const Held& held) {
    if (entries_ == nullptr || lock == 0) return;
    for (size_t i = 0; i < kProbes; ++i) {
      Entry& entry = At(lock, i);
      uint64_t found = entry.lock.load(std::memory_order_relaxed);  // the lock itself orders its owners
      if (found == 0 && !entry.lock.compare_exchange_strong(found, lock, std::memory_order_relaxed)) continue;
      if (found != 0 && found != lock) continue;
      if (found == lock && is_recursive && entry.owner == owner) {
        ++entry.depth;
        return;
      }
      entry.held = held;
      entry.owner = owner;
      entry.depth = 1;
      return;
    }
    left_out_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  }
  // The calling thread lets it go. False if it still has it, or if Take() was not seen. Context: hot.
  bool LetGo(uint64_t lock, uint32_t owner, Held* held) {
    if (entries_ == nullptr || lock == 0) return false;
    for (size_t i = 0; i < kProbes; ++i) {
      Entry& entry = At(lock, i);
      if (entry.lock.load(std::memory_order_relaxed) != lock) continue;  // our own, or never equal
      const bool is_ours = entry.owner == owner;
      if (is_ours && --entry.depth != 0) return false;
      *held = entry.held;
      entry.lock.store(0, std::memory_order_release);  // the next one to claim it writes after our reads
      return is_ours;
    }
    return false;
  }
  // Forgets all, and gives the memory back; other threads may go on. Context: background.
  void Clear() {
    if (entries_ != nullptr) madvise(entries_.get(), kEntries * sizeof(Entry), MADV_DONTNEED);
  }
  uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }  // a statistic

 private:
  static constexpr size_t kEntries = 8192;
  static constexpr size_t kProbes = 8;

  struct Entry {
    std::atomic<uint64_t> lock;
    Held held;
    uint32_t owner;
    uint32_t depth;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  Entry& At(uint64_t lock, size_t step) const {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    return entries_[((lock * kGolden >> 40) + step) % kEntries];
  }

  std::atomic<uint64_t> left_out_{0};
  base::MappedBlock<Entry> entries_ = base::MapBlock<Entry>(kEntries);  // all zero
};

}  // namespace lagwatch::sdk
