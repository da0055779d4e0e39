// SPDX-License-Identifier: Apache-2.0
// A process's resources, as the kernel sees them. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::soak {

// The threads of this process; ended ones may still be there for a moment.
std::vector<int> ListThreads();
// This process's open files, as "number -> target".
std::vector<std::string> ListOpenFiles();
// The resident memory of this process.
int64_t ResidentBytes();

}  // namespace lagwatch::soak
