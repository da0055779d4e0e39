// SPDX-License-Identifier: Apache-2.0
#include "probe/run/interpreter.h"

#include <algorithm>

#include "base/ticks.h"
#include "probe/run/budget.h"
#include "probe/run/loop.h"

namespace lagwatch::probe {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;  // each word stands for itself

// Not an atomic addition: the slot is mostly one thread's own, and the count is for the budget only.
uint64_t Increment(Word& word) {
  const uint64_t value = word.load(kRelaxed) + 1;
  word.store(value, kRelaxed);
  return value;
}

HitEnd Run(const VerifiedProbe& probe, const Hit& hit, const BlockView& block, uint64_t hits,
           uint64_t weight) {
  Frame frame(probe, hit, block, hits, weight);
  RunOperations(frame, [](const Operation&) {});
  if (!frame.is_faulted) [[likely]]
    return HitEnd::kDone;
  block.header->faulted.fetch_add(1, kRelaxed);
  return HitEnd::kFaulted;
}

bool IsLeftOut(BudgetState state, uint64_t hits) {
  return state.is_exhausted || (Mixed(hits) & ((uint64_t{1} << state.shift) - 1)) != 0;
}

HitEnd SkipOrRun(const VerifiedProbe& probe, const Hit& hit, const BlockView& block, uint64_t hits,
                 BudgetState state) {
  if (IsLeftOut(state, hits)) {
    Increment(block.threads[hit.tid % kThreadSlots].skipped);
    return HitEnd::kSkipped;
  }
  return Run(probe, hit, block, hits, uint64_t{1} << state.shift);
}

// The clock is read, and the budget decides again.
BudgetState CheckBudget(ThreadSlot& slot, const BlockView& block, uint64_t hits, uint64_t now_ticks) {
  const BudgetState state = BudgetState::FromNumber(slot.state.load(kRelaxed));
  const uint64_t skipped = slot.skipped.load(kRelaxed);
  const uint64_t begin = slot.window_ticks.load(kRelaxed);
  BudgetWindow window{.elapsed_ticks = now_ticks - begin,
                      .hits = hits - slot.window_hits.load(kRelaxed),
                      .run_ticks = slot.cost_ticks.load(kRelaxed),
                      .mechanism_ticks = block.mechanism_ticks,
                      .ticks_per_second = block.ticks_per_second};
  window.runs = window.hits - std::min(window.hits, skipped - slot.window_skipped.load(kRelaxed));
  const bool is_first = begin == 0;
  const BudgetState decided = is_first ? state : Decide(state, block.budget, window);
  if (is_first || IsWindowOver(window)) {
    slot.window_ticks.store(now_ticks, kRelaxed);
    slot.window_hits.store(hits, kRelaxed);
    slot.window_skipped.store(skipped, kRelaxed);
  }
  slot.state.store(decided.ToNumber(), kRelaxed);
  return decided;
}

[[gnu::noinline]] HitEnd RunAndMeasure(const VerifiedProbe& probe, const Hit& hit, const BlockView& block,
                                       uint64_t hits) {
  ThreadSlot& slot = block.threads[hit.tid % kThreadSlots];
  const uint64_t begin = base::ReadTicks();
  const BudgetState state = CheckBudget(slot, block, hits, begin);
  if (state.is_off) {
    block.header->is_off.store(1, kRelaxed);
    return HitEnd::kOff;
  }
  const HitEnd end = SkipOrRun(probe, hit, block, hits, state);
  if (end == HitEnd::kSkipped) return end;
  // A run that was preempted says nothing: no run counts for more than twice the worst case.
  const uint64_t most =
      2 * static_cast<uint64_t>(probe.cost_ns() + 100.0) * block.ticks_per_second / 1'000'000'000;
  const uint64_t measured = std::min(base::ReadTicks() - begin, most);
  const uint64_t before = slot.cost_ticks.load(kRelaxed);
  slot.cost_ticks.store(before == 0 ? measured : (3 * before + measured) / 4, kRelaxed);
  return end;
}

}  // namespace

HitEnd RunProbe(const VerifiedProbe& probe, const Hit& hit, ProbeState* state) {
  const BlockView& block = state->block();
  if (block.header->is_off.load(kRelaxed) != 0) [[unlikely]]
    return HitEnd::kOff;
  ThreadSlot& slot = block.threads[hit.tid % kThreadSlots];
  const uint64_t hits = Increment(slot.hits);
  if (hits % kHitsPerCheck == 0) [[unlikely]]
    return RunAndMeasure(probe, hit, block, hits);
  const uint64_t decided = slot.state.load(kRelaxed);
  if (decided != 0) [[unlikely]]
    return SkipOrRun(probe, hit, block, hits, BudgetState::FromNumber(decided));
  return Run(probe, hit, block, hits, 1);
}

}  // namespace lagwatch::probe
