// SPDX-License-Identifier: Apache-2.0
// The border that no exception of lagwatch's crosses on threads of its own, and the count of those
// that met it.
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::base {

// Exceptions that ended a thread or a call of lagwatch's, in this process: no memory, nearly always.
inline constinit std::atomic<uint64_t> failure_count{0};

// Calls `run(context)`; an exception ends it and is counted. Context: background.
void RunGuarded(void (*run)(void*), void* context) noexcept;

}  // namespace lagwatch::base
