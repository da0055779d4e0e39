// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cstdint>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/process.h"
#include "base/system/seccomp.h"
#include "sdk/host_limits.h"

namespace lagwatch::sdk {
namespace {

// The address space that must be left. A monitor maps 24 MiB of data, and the C library reserves 64 MiB of
// addresses for the heap of the first of its threads that allocates, for a moment twice as much; the rest
// stays for the program.
constexpr uint64_t kAddressBytes = uint64_t{192} << 20;
constexpr uint64_t kDataBytes = uint64_t{64} << 20;
constexpr uint64_t kTraceBytes = uint64_t{160} << 20;  // in addition, of both

bool LeavesRoom(decltype(RLIMIT_AS) resource, uint64_t needed_bytes, std::string_view status,
                std::string_view key) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  const uint64_t used_bytes = base::NumberInLine(status, key).value_or(0) << 10;  // "VmSize:\t 7 kB"
  return used_bytes + needed_bytes <= limit.rlim_cur;
}

Status CheckMemory(bool is_traced) {
  const uint64_t more_bytes = is_traced ? kTraceBytes : 0;
  char buffer[8192];
  const std::string_view status = base::ReadSmallFile("/proc/self/status", buffer, sizeof buffer);
  if (LeavesRoom(RLIMIT_AS, kAddressBytes + more_bytes, status, "VmSize:") &&
      LeavesRoom(RLIMIT_DATA, kDataBytes + more_bytes, status, "VmData:"))
    return {};
  return Status(StatusCode::kUnavailable,
                "too little memory is left under the process's limits (RLIMIT_AS, RLIMIT_DATA)");
}

Status CheckSeccomp() {
  const base::SeccompState own = base::ReadSeccomp();
  if (own.filters == 0 || own == base::ReadSeccompOf("/proc/1/status")) return {};
  return Status(StatusCode::kUnavailable,
                "a seccomp filter confines the process: if it allows what lagwatch calls, say so with "
                "seccomp_allows_lagwatch");
}

}  // namespace

Status CheckCanRunHere(bool is_traced, bool seccomp_is_allowed) {
  if (Status status = CheckMemory(is_traced); !status.ok()) return status;
  // Android confines every app, and lagwatch makes only calls that its filter allows.
  return seccomp_is_allowed || !base::kCanTryNewCalls ? Status() : CheckSeccomp();
}

}  // namespace lagwatch::sdk
