// SPDX-License-Identifier: Apache-2.0
#include "probe/run/probe_state.h"

#include <algorithm>
#include <bit>

namespace lagwatch::probe {
namespace {

constexpr auto kRelaxed =
    std::memory_order_relaxed;  // hits go on meanwhile: there is no moment to be consistent with

void AppendWord(uint64_t word, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&word), sizeof word);
}

}  // namespace

size_t ProbeState::Bytes(const VerifiedProgram& program) { return BlockBytes(program.program()); }

ProbeState::ProbeState(const VerifiedProgram& program, void* memory, const ProbeClock& clock,
                       uint32_t mechanism_ns)
    : program_(program) {
  LayOut(program.program(), memory, &block_);
  const double per_second = 1e9 / clock.ns_per_tick;
  block_.ns_per_tick_q32 = static_cast<uint64_t>(clock.ns_per_tick * 0x1p32);
  block_.base_ticks = clock.base_ticks;
  block_.base_mono_ns = clock.base_mono_ns;
  block_.ticks_per_second = static_cast<uint64_t>(per_second);
  block_.mechanism_ticks = static_cast<uint64_t>(mechanism_ns * per_second / 1e9);
  block_.header->level.store(program.program().level, kRelaxed);
  for (uint64_t i = 0; i <= block_.records.mask; ++i) {
    block_.records.slots[i * block_.records.slot_words].store(i, kRelaxed);
  }
}

void ProbeState::SetLevel(uint32_t level) { block_.header->level.store(level, kRelaxed); }

std::vector<uint32_t> ProbeState::TakeRequests() {
  std::vector<uint32_t> taken;
  for (uint64_t bits = block_.header->requests.exchange(0, kRelaxed); bits != 0; bits &= bits - 1) {
    taken.push_back(static_cast<uint32_t>(std::countr_zero(bits)));
  }
  return taken;
}

size_t ProbeState::TakeRecords(size_t most, std::string* bytes) {
  const RecordSlots& records = block_.records;
  size_t taken = 0;
  uint64_t place = block_.header->taken_record.load(kRelaxed);
  for (; taken < most; ++taken, ++place) {
    Word* const slot = records.slots + (place & records.mask) * records.slot_words;
    if (slot->load(std::memory_order_acquire) != place + 1) break;  // not written, or not to its end
    for (size_t i = 1; i < records.slot_words; ++i) AppendWord(slot[i].load(kRelaxed), bytes);
    slot->store(place + records.mask + 1, std::memory_order_release);  // free for the next round
  }
  block_.header->taken_record.store(place, kRelaxed);
  return taken;
}

std::string ProbeState::Snapshot() const {
  std::string bytes;
  const auto append_table = [&](const Word* slots, size_t count, size_t words, bool has_keys) {
    const size_t count_at = bytes.size();
    uint64_t kept = 0;
    AppendWord(0, &bytes);
    for (const Word* slot = slots; slot != slots + count * words; slot += words) {
      const uint64_t hash = slot->load(std::memory_order_acquire);  // with it comes the key
      if (has_keys && (hash == kEmptyCell || hash == kClaimedCell)) continue;
      ++kept;
      AppendWord(static_cast<uint64_t>(slot - slots) / words, &bytes);
      for (size_t i = 1; i < words; ++i) AppendWord(slot[i].load(kRelaxed), &bytes);
    }
    std::copy_n(reinterpret_cast<const char*>(&kept), sizeof kept, &bytes[count_at]);
  };
  for (size_t i = 0; i < program_.program().aggregates.size(); ++i) {
    const AggregateTable& table = block_.aggregates[i];
    append_table(table.cells, (size_t{table.mask} + 1) * (size_t{table.shard_mask} + 1), table.cell_words,
                 table.keys != 0);
  }
  append_table(block_.stacks.slots, size_t{block_.stacks.mask} + 1, kStackWords, true);
  return bytes;
}

ProbeStats ProbeState::Stats() const {
  const BlockHeader& header = *block_.header;
  ProbeStats stats{.faulted = header.faulted.load(kRelaxed),
                   .dropped_records = header.dropped_records.load(kRelaxed),
                   .dropped_stacks = header.dropped_stacks.load(kRelaxed),
                   .is_off = header.is_off.load(kRelaxed) != 0};
  for (size_t i = 0; i < kThreadSlots; ++i) {
    stats.hits += block_.threads[i].hits.load(kRelaxed);
    stats.skipped += block_.threads[i].skipped.load(kRelaxed);
    stats.lost += block_.threads[i].lost.load(kRelaxed);
  }
  for (size_t i = 0; i < program_.program().aggregates.size(); ++i) {
    stats.dropped_keys += block_.aggregates[i].dropped->load(kRelaxed);
  }
  return stats;
}

}  // namespace lagwatch::probe
