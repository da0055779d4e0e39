// SPDX-License-Identifier: Apache-2.0
#include "base/process/own_threads.h"

#include <unistd.h>

#include <atomic>

#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

constexpr uint64_t kFree = 0;
constexpr uint64_t kLentBit = uint64_t{1} << 63;

constinit std::atomic<uint64_t> g_threads[internal::kMostOwnThreads] = {};

uint64_t KeyOf(int32_t tid) {
  return static_cast<uint64_t>(static_cast<uint32_t>(getpid())) << 32 | static_cast<uint32_t>(tid);
}

// Relaxed, here and below: each place is whole in itself.
void Replace(uint64_t before, uint64_t after) {
  for (std::atomic<uint64_t>& place : g_threads) {
    uint64_t expected = before;
    if (place.compare_exchange_strong(expected, after, std::memory_order_relaxed)) return;
  }
}

// A forked child's table has its parent's threads, whose places are free.
bool IsFree(uint64_t thread) {
  constexpr uint64_t kPidMask = 0x7fff'ffff;
  return thread == kFree || (thread >> 32 & kPidMask) != static_cast<uint32_t>(getpid());
}

}  // namespace

ThreadOwner OwnerOfThread(int32_t tid) {
  const uint64_t key = KeyOf(tid);
  for (const std::atomic<uint64_t>& place : g_threads) {
    const uint64_t thread = place.load(std::memory_order_relaxed);
    if (thread == key) return ThreadOwner::kLagwatch;
    if (thread == (key | kLentBit)) return ThreadOwner::kLent;
  }
  return ThreadOwner::kProgram;
}

int32_t internal::OwnThreadAt(size_t place) {
  const uint64_t thread = g_threads[place].load(std::memory_order_relaxed);
  return IsFree(thread) ? 0 : static_cast<int32_t>(thread & 0xffff'ffff);
}

ScopedOwnThread::ScopedOwnThread() {
  const uint64_t key = KeyOf(CurrentThreadId());
  for (std::atomic<uint64_t>& place : g_threads) {
    uint64_t before = place.load(std::memory_order_relaxed);
    if (IsFree(before) && place.compare_exchange_strong(before, key, std::memory_order_relaxed)) return;
  }
}

ScopedOwnThread::~ScopedOwnThread() { Replace(KeyOf(CurrentThreadId()), kFree); }

ScopedLentThread::ScopedLentThread() {
  const uint64_t key = KeyOf(CurrentThreadId());
  Replace(key, key | kLentBit);
}

ScopedLentThread::~ScopedLentThread() {
  const uint64_t key = KeyOf(CurrentThreadId());
  Replace(key | kLentBit, key);
}

}  // namespace lagwatch::base
