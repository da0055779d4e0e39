// SPDX-License-Identifier: Apache-2.0
// The records of threads that capture their own stacks: one ring of records of different lengths per thread,
// on memory of its own. When it is full, new records are dropped: one reader empties it now and then, and
// never makes the writer wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/unsynchronized_copy.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// A record without its program counters, as it lies in the ring. Times are base::ReadTicks().
struct CaptureRecord {
  static constexpr uint32_t kMaxDepth = 128;  // fits `depth`

  uint64_t begin_ticks;
  uint64_t end_ticks;    // equal to begin_ticks for what lasts no time
  uint64_t object;       // kWaited, kWoke: address of the lock, the thread …; 0 when there is none
  Totals totals;         // at end_ticks, of the thread since it began; allocations since it had hooks
  uint32_t dispatch;     // 0: none
  uint8_t stack_copy;    // in StackCopies; 0: none
  uint8_t depth;         // of the program counters that follow, innermost first
  RunKind run;           // kCaptured, kWaited or kWoke
  CallKind call : 6;     // what the thread had called
  bool is_for_all : 1;   // kWoke: all that waited, as a broadcast does
  bool is_complete : 1;  // false: outermost frames are missing
};
static_assert(sizeof(CaptureRecord) % sizeof(uint64_t) == 0);

// Thread safety: one writer (the thread, or a signal handler that found it not writing), one reader at
// a time. Invariants:
// - `written` and `read` count bytes for ever and are multiples of 8; at most kSizeBytes lie between them.
// - An entry is a word, its length with itself, and a record, or the rest of the ring left out. It never goes
//   over the ring's end.
class CaptureRing {
 public:
  static constexpr uint64_t kSizeBytes = 64 << 10;

  // Null when there is no memory. Context: signal (one system call).
  static CaptureRing* Create();
  static void Destroy(CaptureRing* ring);

  // Returns room for a record and `kMaxDepth` program counters; null if the ring is full. Its content is
  // valid once it is committed. Context: signal.
  CaptureRecord* Reserve() {
    uint64_t written = written_.load(std::memory_order_relaxed);  // our own
    const uint64_t left = kSizeBytes - written % kSizeBytes;
    const uint64_t needed = left < kMaxEntryBytes ? left + kMaxEntryBytes : kMaxEntryBytes;
    // Acquire: the reader is done with what we write over.
    if (kSizeBytes - (written - read_.load(std::memory_order_acquire)) < needed) return nullptr;
    if (left < kMaxEntryBytes) {
      At(written)->length = left | kLeftOut;
      written += left;
      written_.store(written, std::memory_order_release);  // publishes the gap
    }
    return &At(written)->record;
  }
  // The program counters of a reserved record.
  static uint64_t* Pcs(CaptureRecord* record) { return reinterpret_cast<uint64_t*>(record + 1); }
  void Commit(const CaptureRecord& record) {
    const uint64_t written = written_.load(std::memory_order_relaxed);  // our own
    const uint64_t length = kHeadBytes + record.depth * sizeof(uint64_t);
    At(written)->length = length;
    written_.store(written + length, std::memory_order_release);  // publishes the record
  }

  // Calls `visit(record, pcs)` for each record that was there at the call; returns how many.
  // Context: the reader's.
  template <typename Visit>
  size_t Drain(Visit visit) {
    const uint64_t written = written_.load(std::memory_order_acquire);  // pairs with Commit
    uint64_t read = read_.load(std::memory_order_relaxed);              // our own
    size_t count = 0;
    while (read != written) {
      // A copy, because the thread sanitizer does not see what a signal handler publishes.
      alignas(RingHead) char copy[kMaxEntryBytes];
      auto* entry = reinterpret_cast<RingHead*>(copy);
      base::CopyUnsynchronized(&At(read)->length, &entry->length, sizeof entry->length);
      if ((entry->length & kLeftOut) == 0) {
        base::CopyUnsynchronized(At(read), copy, std::min<uint64_t>(entry->length, sizeof copy));
        visit(entry->record, reinterpret_cast<const uint64_t*>(&entry->record + 1));
        ++count;
      }
      read += entry->length & ~kLeftOut;
      read_.store(read, std::memory_order_release);  // the writer may have it
    }
    return count;
  }

 private:
  struct RingHead {
    uint64_t length;
    CaptureRecord record;
  };
  static constexpr uint64_t kLeftOut = 1;
  static constexpr uint64_t kHeadBytes = sizeof(RingHead);
  static constexpr uint64_t kMaxEntryBytes = kHeadBytes + CaptureRecord::kMaxDepth * sizeof(uint64_t);

  CaptureRing() = default;
  RingHead* At(uint64_t position) { return reinterpret_cast<RingHead*>(bytes_ + position % kSizeBytes); }

  alignas(64) std::atomic<uint64_t> written_{0};
  alignas(64) std::atomic<uint64_t> read_{0};
  alignas(64) char bytes_[kSizeBytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "not signal-safe");

}  // namespace lagwatch::trace
