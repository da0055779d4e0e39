// SPDX-License-Identifier: Apache-2.0
// One run of a probe: its registers and what its operations ask for. Context: signal, hot.
#pragma once

#include <bit>
#include <cstdint>

#include "base/ticks.h"
#include "probe/block.h"
#include "probe/hit.h"
#include "probe/limits.h"
#include "probe/verify/verified.h"

namespace lagwatch::probe {

struct Frame {
  Frame(const VerifiedProbe& run_probe, const Hit& its_hit, const BlockView& its_block, uint64_t thread_hits,
        uint64_t hit_weight)
      : probe(run_probe),
        hit(its_hit),
        block(its_block),
        hits(thread_hits),
        weight(hit_weight),
        budget_weight(hit_weight) {}

  uint64_t
      registers[kRegisters];  // floats as their bits; not initialized: the verifier saw each written first
  const VerifiedProbe& probe;
  const Hit& hit;
  const BlockView& block;
  uint64_t hits;           // of the thread: what samples are drawn by
  uint64_t weight;         // of this hit: how many it stands for
  uint64_t budget_weight;  // the budget's part of that
  uint64_t now_ticks = 0;  // 0 until read
  bool is_faulted = false;

  int64_t Int(uint8_t index) const { return static_cast<int64_t>(registers[index]); }
  double Float(uint8_t index) const { return std::bit_cast<double>(registers[index]); }
  void SetFloat(uint8_t index, double value) { registers[index] = std::bit_cast<uint64_t>(value); }

  uint64_t NowTicks() {
    if (now_ticks == 0) now_ticks = hit.now_ticks != 0 ? hit.now_ticks : base::ReadTicks();
    return now_ticks;
  }
  uint64_t ToNs(uint64_t ticks) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * block.ns_per_tick_q32 >> 32);
  }
  int64_t NowNs() { return block.base_mono_ns + static_cast<int64_t>(ToNs(NowTicks() - block.base_ticks)); }
};

// A well mixed number (the finalizer of MurmurHash3, by A. Appleby).
inline uint64_t Mixed(uint64_t number) {
  number = (number ^ number >> 33) * 0xff51afd7ed558ccd;
  number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53;
  return number ^ number >> 33;
}

}  // namespace lagwatch::probe
