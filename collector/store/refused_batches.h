// SPDX-License-Identifier: Apache-2.0
// The state of a store's batches that its database refused for good. Context: background; pure.
#pragma once

#include <cstdint>

namespace lagwatch::collector {

// Of this process, unless noted otherwise.
struct RefusedBatches {
  uint64_t refused = 0;     // batches of which rows were set aside
  uint64_t dropped = 0;     // files that were removed again, because there was no room for them
  uint64_t kept = 0;        // files that are there now, also of earlier processes
  uint64_t kept_bytes = 0;  // their size
};

}  // namespace lagwatch::collector
