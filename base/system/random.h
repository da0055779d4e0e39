// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lagwatch::base {

// Fills `bytes` with the system's random numbers: at most 256. Does not block once the machine is up.
// Context: watchdog.
void FillRandom(void* bytes, size_t size_bytes);

}  // namespace lagwatch::base
