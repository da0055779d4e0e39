// SPDX-License-Identifier: Apache-2.0
// The program's threads that had no loop to watch, in words. Context: background.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lagwatch::sdk {

// The threads of this process that live now, are not lagwatch's, and are not among `watched`: their number,
// the names of some with how many have each, and the reason, by `--threads`. Empty if there is none, or only
// the main thread of a process that has no other.
std::string DescribeUnwatchedThreads(const std::string& wanted_threads, std::span<const int32_t> watched);

}  // namespace lagwatch::sdk
