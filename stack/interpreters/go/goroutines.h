// SPDX-License-Identifier: Apache-2.0
// The goroutines of a process, as Go's scheduler has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/interpreters/go/functions.h"
#include "stack/interpreters/go/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::go {

enum class Status : uint8_t { kIdle, kRunnable, kRunning, kInCall, kWaiting, kOther };

struct Goroutine {
  uint64_t address = 0;
  uint64_t id = 0;
  Status status = Status::kOther;
  // Another one each time that it stops running; of 256.
  uint8_t turns = 0;
  uint64_t stack_begin = 0;
  uint64_t stack_end = 0;
  // The place at which it goes on, or has made the system call that it is in; 0: it runs.
  uint64_t stack_pointer = 0;
  uint64_t program_counter = 0;
  uint64_t thread = 0;         // the address of the record of the thread that runs it; 0: none
  uint64_t locked_thread = 0;  // of the only thread that may run it; 0: any may
  uint64_t waiting = 0;        // its place in a channel's queue; 0: none
  uint64_t start = 0;          // the address of its function

  // Whether it has not run in between.
  bool IsSameWait(const Goroutine& before) const {
    return id == before.id && turns == before.turns && status == before.status &&
           stack_pointer == before.stack_pointer && program_counter == before.program_counter;
  }
};

// Zeros are none. Each address is checked, because the program goes on while it is read. Context: watchdog;
// not thread-safe.
class Goroutines {
 public:
  // So many are looked at; the rest is left out.
  static constexpr uint64_t kMost = 100'000;

  // Both are borrowed. False if they are not found: in a version that is not known, or before there are any.
  bool Attach(Memory* memory, const Functions& functions);
  bool is_attached() const { return layout_ != nullptr; }
  const Layout& layout() const { return *layout_; }
  Memory* memory() const { return memory_; }

  // Calls `use(goroutine)` for all that live, until it returns false. Returns false if they could not be
  // read.
  template <typename Use>
  bool ForEach(Use use) {
    uint64_t list = 0;
    const uint64_t count = is_attached() ? ReadCount(&list) : 0;
    ahead_begin_ = ahead_end_ = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (i % kAtOnce == 0 && !ReadAddresses(list + i * 8, count - i)) return false;
      Goroutine goroutine;
      if (Read(addresses_[i % kAtOnce], &goroutine) && goroutine.status != Status::kOther && !use(goroutine))
        return true;
    }
    return count != 0;
  }
  // Reads the one at `address` as it is now. False if there is none.
  bool ReadNow(uint64_t address, Goroutine* goroutine) {
    ahead_begin_ = ahead_end_ = 0;
    return Read(address, goroutine);
  }
  // The id of the thread with a record at `thread`; 0: not known.
  int32_t ThreadId(uint64_t thread);
  // The goroutine that the thread runs; 0: none.
  uint64_t GoroutineOf(uint64_t thread);
  // The one that thread `tid` runs, or that no other thread may run. False if there is none.
  bool FindByThread(int32_t tid, Goroutine* goroutine);

 private:
  static constexpr uint64_t kAtOnce = 512;
  static constexpr size_t kRecordBytes = 400;
  static constexpr size_t kAheadBytes = 16 << 10;

  bool FindList(const Functions& functions);
  bool IsList(const uint64_t (&words)[3]);
  uint64_t ReadCount(uint64_t* list);
  bool ReadAddresses(uint64_t list, uint64_t count);
  bool Read(uint64_t address, Goroutine* goroutine);
  const uint8_t* ReadRecord(uint64_t address);

  Memory* memory_ = nullptr;
  const Layout* layout_ = nullptr;
  uint64_t list_ = 0;  // the address of the list's variable
  std::array<uint64_t, kAtOnce> addresses_{};
  // Goroutines lie next to each other.
  uint64_t ahead_begin_ = 0;
  uint64_t ahead_end_ = 0;
  std::array<uint8_t, kAheadBytes> ahead_{};
};

}  // namespace lagwatch::stack::go
