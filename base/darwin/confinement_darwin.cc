// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "base/system/capabilities.h"
#include "base/system/seccomp.h"

namespace lagwatch::base {
namespace {

constinit std::atomic<bool> g_is_confined{false};

}  // namespace

// Darwin has neither capabilities of threads nor filters of system calls.
bool HasCapabilitiesOf(int) { return true; }

SeccompState ReadSeccomp() { return {}; }

SeccompState ReadSeccompOf(const char*) { return {}; }

bool IsConfined() { return g_is_confined.load(std::memory_order_relaxed); }

void SetConfined(bool is_confined) { g_is_confined.store(is_confined, std::memory_order_relaxed); }

}  // namespace lagwatch::base
