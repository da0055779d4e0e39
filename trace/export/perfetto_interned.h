// SPDX-License-Identifier: Apache-2.0
// The interned names of a Perfetto trace, which its packets refer to by number. Context: background.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/export/perfetto_packets.h"
#include "trace/export/timeline.h"

namespace lagwatch::trace {

enum class Category : uint64_t { kEstimated = 1, kExact, kDispatch, kWake, kSample, kLoss };

enum class Annotation : uint64_t {
  kCount = 1,
  kGapNs,
  kCpuNs,
  kAllocations,
  kAllocatedBytes,
  kMinorFaults,
  kMajorFaults,
  kVoluntarySwitches,
  kInvoluntarySwitches,
  kCall,
  kObject,
  kDispatch,
  kEstimated,
  kUnfinished,
  kThread,
  kRemedy,
};

// Of a function as a slice's name, and of a stack that ends in `node`.
inline uint64_t EventNameIid(uint32_t function) { return uint64_t{function} + 1; }
inline uint64_t CallstackIid(uint32_t node) { return uint64_t{node} + 1; }

// All of the above; of functions those that slices have, of stacks those in `stacks`, each once.
void AddInternedData(const Timeline& timeline, const std::vector<uint32_t>& stacks, PacketWriter* packets);

}  // namespace lagwatch::trace
