// SPDX-License-Identifier: Apache-2.0
// Whether another process is watched by a lagwatch of its own: then both report the same hang, and the
// collector joins them by the id of the other one's run.
#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace lagwatch::sdk {

// The id of the run that process `pid` keeps a record of (sdk/run/run_record.h); zero if it keeps none, or
// its memory may not be read. Waits as long as a thread of that process holds the lock of its memory map.
// Context: watchdog.
base::Uuid SessionOfPeer(int32_t pid);

}  // namespace lagwatch::sdk
