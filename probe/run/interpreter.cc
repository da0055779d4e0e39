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

// By chance.
bool IsThinnedOut(BudgetState state, uint32_t tid, uint64_t hits) {
  return (Mixed(hits + (uint64_t{tid} << 24)) & ((uint64_t{1} << state.shift) - 1)) != 0;
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

// The budget's decision about a hit.
struct Decision {
  HitEnd end = HitEnd::kDone;  // else it is not run
  uint64_t weight = 1;
  uint64_t begin_ticks = 0;  // of one that is measured
};

// These two are functions of their own, because a run between them has 512 bytes of stack.
[[gnu::noinline]] Decision DecideHit(const Hit& hit, const BlockView& block, uint64_t hits) {
  ThreadSlot& slot = block.threads[hit.tid % kThreadSlots];
  Decision decision;
  BudgetState state = BudgetState::FromNumber(slot.state.load(kRelaxed));
  if (hits % kHitsPerCheck == 0) {
    decision.begin_ticks = base::ReadTicks();
    state = CheckBudget(slot, block, hits, decision.begin_ticks);
  }
  if (state.is_off) {
    block.header->is_off.store(1, kRelaxed);
    decision.end = HitEnd::kOff;
  } else if (LosesHits(state) || IsThinnedOut(state, hit.tid, hits)) {
    Increment(slot.skipped);
    if (LosesHits(state)) Increment(slot.lost);
    decision.end = HitEnd::kSkipped;
  }
  decision.weight = uint64_t{1} << state.shift;
  return decision;
}

// A run that was preempted says nothing: no run counts for more than twice the worst case.
[[gnu::noinline]] void NoteCost(const VerifiedProbe& probe, const BlockView& block, uint32_t tid,
                                uint64_t begin_ticks) {
  ThreadSlot& slot = block.threads[tid % kThreadSlots];
  const uint64_t most = 2 * (probe.cost_ns() + uint64_t{100}) * block.ticks_per_second / 1'000'000'000;
  const uint64_t measured = std::min(base::ReadTicks() - begin_ticks, most);
  const uint64_t before = slot.cost_ticks.load(kRelaxed);
  slot.cost_ticks.store(before == 0 ? measured : (3 * before + measured) / 4, kRelaxed);
}

}  // namespace

HitEnd RunProbe(const VerifiedProbe& probe, const Hit& hit, ProbeState* state) {
  const BlockView& block = state->block();
  if (block.header->is_off.load(kRelaxed) != 0) [[unlikely]]
    return HitEnd::kOff;
  ThreadSlot& slot = block.threads[hit.tid % kThreadSlots];
  const uint64_t hits = Increment(slot.hits);
  Decision decision;
  if (hits % kHitsPerCheck == 0 || slot.state.load(kRelaxed) != 0) [[unlikely]] {
    decision = DecideHit(hit, block, hits);
    if (decision.end != HitEnd::kDone) return decision.end;
  }
  Frame frame(probe, hit, block, hits, decision.weight);
  RunOperations(frame, [](const Operation&) {});
  if (decision.begin_ticks != 0) [[unlikely]]
    NoteCost(probe, block, hit.tid, decision.begin_ticks);
  if (!frame.is_faulted) [[likely]]
    return HitEnd::kDone;
  block.header->faulted.fetch_add(1, kRelaxed);
  return HitEnd::kFaulted;
}

bool CountsHitsOnly(const VerifiedProbe& probe, const ProbeState& state) {
  const auto is_count = [&](const Operation& operation) {
    if (operation.code == OperationCode::kEnd) return true;
    if (operation.code != OperationCode::kAggregate) return false;
    const AggregateTable& table = state.block().aggregates[static_cast<size_t>(operation.number)];
    return table.kind == AggregateKind::kCount && table.keys == 0;
  };
  return std::ranges::all_of(probe.operations(), is_count);
}

void AddCountedHits(const VerifiedProbe& probe, uint64_t hits, ProbeState* state) {
  const BlockView& block = state->block();
  block.threads[0].hits.fetch_add(hits, kRelaxed);
  const Hit hit;
  Frame frame(probe, hit, block, hits, hits);
  RunOperations(frame, [](const Operation&) {});
}

}  // namespace lagwatch::probe
