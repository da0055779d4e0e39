// SPDX-License-Identifier: Apache-2.0
// The kernel's tracepoints at the return of those system calls by which loops wait.
#pragma once

#include <cstdint>
#include <optional>

namespace lagwatch::sdk {

// Its number for perf_event_open(2), from tracefs, which need not be mounted; none for other calls, or where
// this process may not read it. Context: background; the first call for a number reads files.
std::optional<uint64_t> ReturnTracepointOf(uint64_t syscall_number);

}  // namespace lagwatch::sdk
