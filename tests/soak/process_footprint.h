// SPDX-License-Identifier: Apache-2.0
// What a process holds on to, as the kernel sees it. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::soak {

// The threads of this process; ended ones may still be there for a moment.
std::vector<int> ListThreads();
// What this process has open, as "number -> target".
std::vector<std::string> ListOpenFiles();
// How much memory of this process is resident.
int64_t ResidentBytes();

}  // namespace lagwatch::soak
