// SPDX-License-Identifier: Apache-2.0
// Decodes threads' records from copies of their blocks. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/block_pool.h"

namespace lagwatch::trace {

struct CallRecord {
  uint64_t ticks = 0;    // base::ReadTicks()
  uint64_t address = 0;  // of the function, or of the string that names a part
  bool is_enter = false;
  bool is_name = false;

  bool operator==(const CallRecord&) const = default;
};

// Appends what the block holds, in the order of time: where a signal handler wrote between a function's look
// at the clock and its own event, that is not the order of writing. `block` is a copy; bytes that make no
// sense give senseless records, and nothing worse.
void DecodeCalls(const Block& block, std::vector<CallRecord>* records);

// Everything that a pool has of each thread (by tid), in the order of time. Recording may go on.
std::map<int32_t, std::vector<CallRecord>> ReadCalls(const BlockPool& pool);

}  // namespace lagwatch::trace
