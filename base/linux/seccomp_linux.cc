// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/seccomp.h"

namespace lagwatch::base {
namespace {

constexpr size_t kStatusBytes = 8192;

std::atomic<bool> g_is_confined{false};
static_assert(std::atomic<bool>::is_always_lock_free, "not signal-safe");

}  // namespace

SeccompState ReadSeccomp() { return ReadSeccompOf("/proc/thread-self/status"); }

SeccompState ReadSeccompOf(const char* status_path) {
  char buffer[kStatusBytes];
  const std::string_view status = ReadSmallFile(status_path, buffer, sizeof buffer);
  const auto mode = NumberInLine(status, "Seccomp:");
  if (!mode) return {};
  uint64_t filters = NumberInLine(status, "Seccomp_filters:").value_or(0);  // from Linux 5.9 on
  if (*mode != 0) filters = std::max<uint64_t>(filters, 1);
  return {true, static_cast<uint32_t>(filters)};
}

bool IsConfined() { return g_is_confined.load(); }
void SetConfined(bool is_confined) { g_is_confined.store(is_confined); }

}  // namespace lagwatch::base
