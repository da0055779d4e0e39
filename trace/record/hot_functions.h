// SPDX-License-Identifier: Apache-2.0
// Finds the functions that are called too often to be recorded: their events would push all others out of the
// memory, and cost the program most of its time. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/block_pool.h"

namespace lagwatch::trace {

// Thread safety: one thread at a time.
class HotFunctions {
 public:
  // `limit_per_s` 0: none is too hot.
  explicit HotFunctions(uint64_t limit_per_s) : limit_per_s_(limit_per_s) {}

  // The functions with more than the limit of calls since the second began, each once in a second; to be
  // called several times a second. Reads the blocks that were filled since it was called last. Where some of
  // these are overwritten already, the others stand for them.
  std::vector<uint64_t> Find(const BlockPool& pool, uint64_t now_ticks, uint64_t ticks_per_ms);

 private:
  uint64_t limit_per_s_;
  uint64_t last_ticket_ = 0;
  std::vector<uint64_t> counted_;  // by block, the ticket of the use that was counted
  uint64_t second_begin_ticks_ = 0;
  std::map<uint64_t, double> calls_;  // in this second, by function
};

}  // namespace lagwatch::trace
