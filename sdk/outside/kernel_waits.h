// SPDX-License-Identifier: Apache-2.0
// The times at which loops of other processes enter and leave their waits, recorded by programs in the kernel
// (BPF): exact also for dispatches that no look from outside sees. Any tracepoint of a system call makes each
// system call of the machine slower: see docs/design/outside.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

struct lagwatch_wait_slot;

namespace lagwatch::sdk {

// The programs, for the whole machine, as long as this object or a copy of it in a forked process
// lives. Thread safety: Load from one thread; the rest from any.
class KernelWaits {
 public:
  // Errors: kUnavailable, with what is missing. Context: background.
  static base::Result<std::unique_ptr<KernelWaits>> Load();
  ~KernelWaits();
  KernelWaits(const KernelWaits&) = delete;
  KernelWaits& operator=(const KernelWaits&) = delete;

  // The slot of thread `tid` (in the first pid namespace).
  lagwatch_wait_slot* SlotOf(int32_t tid) const;

 private:
  struct Programs;

  KernelWaits();

  std::unique_ptr<Programs> programs_;
  void* slots_ = nullptr;
};

// Distinguishes the waits of a loop from others.
struct WaitKey {
  uint32_t kind = 0;  // lagwatch_wait_kind
  int64_t word = 0;

  bool operator==(const WaitKey&) const = default;
};

// Those of one thread. Thread safety: one thread's. Context: background.
class ThreadWaits {
 public:
  // `waits` is borrowed; null: nothing is known.
  ThreadWaits(const KernelWaits* waits, int32_t tid) : waits_(waits), tid_(tid) {}
  ~ThreadWaits();
  ThreadWaits(const ThreadWaits&) = delete;
  ThreadWaits& operator=(const ThreadWaits&) = delete;

  // From now on the loop's waits are those of this kind with this word, wherever they are called from: a
  // nested loop that serves the loop's descriptors is one, too.
  void SetHome(const WaitKey& home);
  struct Turn {
    bool is_home = false;  // in the loop's wait
    int64_t since_ns = 0;  // CLOCK_MONOTONIC; 0: nothing is known yet
  };
  Turn Read() const;
  // The next dispatch of more than kLongNs that has ended, the oldest first. Some may be lost. False without
  // one.
  static constexpr int64_t kLongNs = 5'000'000;
  bool TakeLong(int64_t* begin_ns, int64_t* end_ns);
  // Leaves out those that have ended so far.
  void SkipLong();

 private:
  // False if another thread has it.
  bool TakeSlot();

  const KernelWaits* waits_;
  int32_t tid_;
  lagwatch_wait_slot* slot_ = nullptr;  // null until the loop's wait is known
  uint64_t taken_ = 0;
};

}  // namespace lagwatch::sdk
