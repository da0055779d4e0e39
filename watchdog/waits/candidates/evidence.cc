// SPDX-License-Identifier: Apache-2.0
#include "watchdog/waits/candidates/evidence.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace lagwatch::watchdog {
namespace {

struct EvidenceKind {
  uint32_t weight;
  const char* reason;
};
// In the order of Evidence, the greatest first: chosen by judgement, so that one proof outweighs several
// hints. docs/design/locks.md.
constexpr EvidenceKind kEvidenceKinds[] = {
    {64, "is at the other end"},
    {64, "runs the task of the future"},
    {40, "has not come to the barrier"},
    {24, "works with memory at what is waited for, or shortly before it"},
    {20, "waits for a lock that the waiting thread holds"},
    {10, "runs code that refers to what is waited for"},
    {8, "has the address of the lock on its stack"},
    {7, "runs code that calls what refers to what is waited for"},
    {6, "has the number of the descriptor in a register or an argument"},
    {5, "works with data that lead to what is waited for"},
    {4, "does the same work as the waiting thread, and does not wait there"},
};
static_assert(std::size(kEvidenceKinds) == static_cast<size_t>(Evidence::kCount));

uint32_t WeightOf(const ConsideredThread& thread) {
  uint32_t weight = 0;
  for (size_t i = 0; i < std::size(kEvidenceKinds); ++i)
    if (thread.Has(static_cast<Evidence>(i))) weight += kEvidenceKinds[i].weight;
  // One that waits for orders is less likely to be about to do something.
  constexpr uint32_t kOfBusy = 1;
  if (weight != 0 && !thread.waits_for_signal) weight += kOfBusy;
  return weight;
}

}  // namespace

// Threads with the same start do the same work. Where one of them waits for the object, too, the others are
// yet to come; those that only idle in a queue of theirs never wait with a thread that hangs.
void ConsideredThreads::AddAbsent() {
  const bool is_shared = std::ranges::any_of(threads(), [&](const ConsideredThread& one) {
    return one.waits_for_object && one.start != 0 && one.start == waiting_.start;
  });
  for (ConsideredThread& thread : threads()) {
    if (thread.start == 0 || thread.start != waiting_.start || thread.waits_for_object) continue;
    if (expected_ != 0) thread.Add(Evidence::kNotArrived);
    if (expected_ == 0 && is_shared) thread.Add(Evidence::kSameWork);
  }
}

// Evidence that most threads have says nothing of one.
void ConsideredThreads::DropCommon() {
  constexpr Evidence kWeak[] = {Evidence::kCodeRefers, Evidence::kCodeCalls, Evidence::kGuard,
                                Evidence::kDescriptor, Evidence::kNearObject};
  for (const Evidence kind : kWeak) {
    const auto has = [&](const ConsideredThread& one) { return one.Has(kind); };
    const auto having = static_cast<size_t>(std::ranges::count_if(threads(), has));
    if (having <= Candidates::kMost || having * 2 <= count_) continue;
    for (ConsideredThread& thread : threads()) thread.Remove(kind);
  }
}

// The nearest address is that of the object, or of what it is a part of; one further before it may be that of
// something else.
void ConsideredThreads::DropFar() {
  uint64_t nearest = UINT64_MAX;
  for (const ConsideredThread& thread : threads()) nearest = std::min(nearest, thread.distance);
  for (ConsideredThread& thread : threads()) {
    if (thread.distance == nearest) continue;
    thread.Remove(Evidence::kUsesObject);
    thread.Remove(Evidence::kNearObject);
  }
}

// By a wait that ends only with the waiting thread's, or with another one of the pool's, or that is of the
// kind of the waiting thread's.
bool ConsideredThreads::IsStuck(const ConsideredThread& thread) const {
  if (!thread.is_asleep || thread.waits_for_object) return false;
  if (thread.waits_for_future) return true;
  if (thread.lock_owner == waiting_.tid) return true;
  if (thread.lock_owner != 0) {
    return std::ranges::any_of(threads(), [&](const ConsideredThread& other) {
      return other.tid == thread.lock_owner && other.start == thread.start;
    });
  }
  return thread.waits_for_signal && thread.place != 0 && thread.place == waiting_.place;
}

// Any thread without a known beginning may be one of the pool's that is not stuck.
uint32_t ConsideredThreads::FindExhaustedPool() {
  const auto is_unknown = [](const ConsideredThread& one) { return one.start == 0; };
  if (!is_all_ || std::ranges::any_of(threads(), is_unknown)) return 0;
  for (const ConsideredThread& first : threads()) {
    if (!IsStuck(first)) continue;
    uint32_t size = waiting_.start == first.start ? 1 : 0;
    bool are_all_stuck = true;
    for (const ConsideredThread& one : threads()) {
      if (one.start != first.start) continue;
      ++size;
      are_all_stuck = are_all_stuck && IsStuck(one);
    }
    constexpr uint32_t kSmallest = 2;
    if (are_all_stuck && size >= kSmallest) return size;
  }
  return 0;
}

void ConsideredThreads::Describe(const ConsideredThread& thread, Candidate* candidate) const {
  size_t best = 0;
  while (!thread.Has(static_cast<Evidence>(best))) ++best;
  // Without it the thread could go on.
  if (thread.Has(Evidence::kNeedsLock)) best = static_cast<size_t>(Evidence::kNeedsLock);
  candidate->tid = thread.tid;
  candidate->count = static_cast<uint32_t>(std::ranges::count_if(
      threads(), [&](const ConsideredThread& one) { return one.Has(static_cast<Evidence>(best)); }));
  std::snprintf(candidate->reason, sizeof candidate->reason, "%s", kEvidenceKinds[best].reason);
  if (static_cast<Evidence>(best) == Evidence::kNotArrived)
    std::snprintf(candidate->reason, sizeof candidate->reason, "%s, where %u of %u wait",
                  kEvidenceKinds[best].reason, arrived_, expected_);
}

Candidates ConsideredThreads::Judge() {
  AddAbsent();
  DropFar();
  DropCommon();
  Candidates found;
  found.exhausted_pool_threads = FindExhaustedPool();
  std::ranges::sort(threads(), [](const ConsideredThread& a, const ConsideredThread& b) {
    const uint32_t weight = WeightOf(a);
    const uint32_t other = WeightOf(b);
    if (weight != other) return weight > other;
    // A main thread has often made the object, and waits for the end of the others.
    return a.is_main != b.is_main ? b.is_main : a.tid < b.tid;
  });
  for (const ConsideredThread& thread : threads()) {
    if (thread.evidence == 0 || found.count == Candidates::kMost) break;
    Describe(thread, &found.best[found.count++]);
  }
  return found;
}

}  // namespace lagwatch::watchdog
