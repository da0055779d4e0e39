// SPDX-License-Identifier: Apache-2.0
// The evidence for each thread of a process that it could end a wait, and the candidates that follow from it.
// Context: watchdog.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "watchdog/waits/candidates/candidate.h"

namespace lagwatch::watchdog {

// The kinds of evidence; several may hold for one thread.
enum class Evidence : uint8_t {
  kAtOtherEnd,  // it is in a call on the other end of the descriptor
  kRunsTask,    // of the future
  kNotArrived,  // at the barrier
  kUsesObject,
  kNeedsLock,   // that the waiting thread holds
  kCodeRefers,  // to the object
  kGuard,       // the lock's address is on its stack
  kCodeCalls,   // it calls code that refers to the object
  kDescriptor,  // it has the number of the object's descriptor
  kNearObject,
  kSameWork,  // it runs the same code as threads that wait for the object, and does not wait for it
  kCount,
};

// A thread, as far as candidates go.
struct ConsideredThread {
  int32_t tid = 0;
  uint32_t evidence = 0;  // a bit for each kind
  uint64_t start = 0;     // the function that it was started with, as Frame::FunctionHash(); 0: not known
  uint64_t place = 0;     // the program's innermost function
  uint64_t distance = UINT64_MAX;  // of the object from the nearest address that was found, behind it
  bool is_main = false;
  bool is_asleep = false;         // without a time limit
  bool waits_for_object = false;  // the same one
  bool waits_for_future = false;
  bool waits_for_signal = false;  // or for something else without an owner
  int32_t lock_owner = 0;         // of the lock that it waits for; 0: not known, or none

  void Add(Evidence kind) { evidence |= uint32_t{1} << static_cast<unsigned>(kind); }
  void Remove(Evidence kind) { evidence &= ~(uint32_t{1} << static_cast<unsigned>(kind)); }
  bool Has(Evidence kind) const { return (evidence >> static_cast<unsigned>(kind) & 1) != 0; }
};

class ConsideredThreads {
 public:
  static constexpr size_t kMost = 256;

  // `waiting` is the thread whose wait it is. Of a barrier, `arrived` of `expected` threads have come.
  explicit ConsideredThreads(const ConsideredThread& waiting) : waiting_(waiting) {}
  void SetBarrier(uint32_t arrived, uint32_t expected) {
    arrived_ = arrived;
    expected_ = expected;
  }
  void Add(const ConsideredThread& thread) {
    if (count_ < kMost) {
      threads_[count_++] = thread;
    } else {
      is_all_ = false;
    }
  }
  // There are threads that were not looked at.
  void MissSome() { is_all_ = false; }
  // Without names.
  Candidates Judge();

 private:
  void AddAbsent();
  void DropCommon();
  void DropFar();
  uint32_t FindExhaustedPool();
  bool IsStuck(const ConsideredThread& thread) const;
  void Describe(const ConsideredThread& thread, Candidate* candidate) const;
  std::span<ConsideredThread> threads() { return {threads_.data(), count_}; }
  std::span<const ConsideredThread> threads() const { return {threads_.data(), count_}; }

  ConsideredThread waiting_;
  uint32_t arrived_ = 0;
  uint32_t expected_ = 0;
  std::array<ConsideredThread, kMost> threads_;
  size_t count_ = 0;
  bool is_all_ = true;
};

}  // namespace lagwatch::watchdog
