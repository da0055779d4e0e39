// SPDX-License-Identifier: Apache-2.0
// Counts the waiting threads by the address that they wait for, so that a thread that releases an object sees
// whether one waits. docs/design/trace_hooks.md shows why no waker misses a waiter.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

// The waiter counts. All zero is an empty table. Context: hot, signal.
//
// Thread safety: all from any thread.
// Invariants:
// - A cell holds an address and the number of its waiters, in one word; 0 without waiters.
// - An address is in its own bucket only, perhaps in several of its cells.
class WaiterTable {
 public:
  using Cell = std::atomic<uint64_t>;

  // The waker's view before the release.
  struct Watch {
    uint64_t changes;
    bool has_waiter;
  };

  // Null when the address's bucket is full, which is counted. A fence for all memory: what the caller reads
  // afterwards is not older than its entry.
  Cell* Enter(uint64_t address) {
    Bucket& bucket = BucketOf(address);
    Cell* entered = TryEnter(&bucket, Key(address));
    if (entered == nullptr) refused_.fetch_add(1, std::memory_order_relaxed);  // a statistic
    bucket.changes.fetch_add(1);
    Fence();
    return entered;
  }
  static void Leave(Cell* cell) {
    uint64_t word = cell->load(std::memory_order_relaxed);
    // The cell keeps its address while a waiter is counted there, and this thread is.
    while (!cell->compare_exchange_weak(word, (word & kCountMask) == 1 ? 0 : word - 1)) {
    }
  }

  bool HasWaiter(uint64_t address) const {
    const Bucket& bucket = BucketOf(address);
    const uint64_t key = Key(address);
    bool is_found = false;
    for (const Cell& cell : bucket.cells)
      is_found |= (cell.load(std::memory_order_relaxed) & ~kCountMask) == key;  // ordered by the callers
    return is_found;
  }

  // A waker calls these before and after the release. Returns true if the release may have woken a waiter:
  // one that entered before or meanwhile, and may have left again by now.
  Watch BeforeRelease(uint64_t address) const {
    // Acquire: a thread counted there is in the cells, or has left them.
    const uint64_t changes = BucketOf(address).changes.load(std::memory_order_acquire);
    return {changes, HasWaiter(address)};
  }
  bool AfterRelease(uint64_t address, const Watch& watch) const {
    // Pairs with the fence in Enter: either this thread sees the entry, or the entering thread
    // sees the release.
    Fence();
    return watch.has_waiter || BucketOf(address).changes.load(std::memory_order_relaxed) != watch.changes;
  }

  uint64_t refused_count() const { return refused_.load(std::memory_order_relaxed); }
  // To be called in a child of fork(): its only thread waits for nothing.
  void Clear() {
    for (Bucket& bucket : buckets_) {
      for (Cell& cell : bucket.cells) cell.store(0);
    }
  }

 private:
  static constexpr uint32_t kIndexShift = 55;
  static constexpr uint32_t kBuckets = 1 << (64 - kIndexShift);
  static constexpr uint32_t kCellsOfBucket = 7;
  static constexpr uint64_t kCountMask = 0xffff;

  // One line of the cache.
  struct alignas(64) Bucket {
    Cell cells[kCellsOfBucket];
    std::atomic<uint64_t> changes;  // one more for each that entered
  };

  // Addresses have at most 57 bits, and waited-for objects lie at multiples of 4: 48 bits are enough for
  // everything that mmap(2) returns by default.
  static uint64_t Key(uint64_t address) { return address >> 2 << 16; }
  static uint64_t IndexOf(uint64_t address) { return (address >> 2) * 0x9e37'79b9'7f4a'7c15u >> kIndexShift; }
  Bucket& BucketOf(uint64_t address) { return buckets_[IndexOf(address)]; }
  const Bucket& BucketOf(uint64_t address) const { return buckets_[IndexOf(address)]; }

  static void Fence() {
#if defined(__SANITIZE_THREAD__)
    // It knows no fences. Changes of one word have an order, too.
    static constinit std::atomic<uint32_t> word{0};
    word.fetch_add(1);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  static Cell* TryEnter(Bucket* bucket, uint64_t key) {
    for (Cell& cell : bucket->cells) {
      uint64_t word = cell.load(std::memory_order_relaxed);
      while (word == 0 || ((word & ~kCountMask) == key && (word & kCountMask) != kCountMask)) {
        if (cell.compare_exchange_weak(word, word == 0 ? key | 1 : word + 1)) return &cell;
      }
    }
    return nullptr;
  }

  Bucket buckets_[kBuckets];
  std::atomic<uint64_t> refused_;
};
static_assert(WaiterTable::Cell::is_always_lock_free, "not signal-safe");

}  // namespace lagwatch::trace
