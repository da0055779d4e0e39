// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cstdint>
#include <string_view>

#include "base/proc_file.h"
#include "base/seccomp.h"
#include "sdk/host_limits.h"

namespace lagwatch::sdk {
namespace {

using base::Status;
using base::StatusCode;

// A start maps this much at most, threads' stacks and the C library's heap for them included, and leaves as
// much to the program. See docs/design/watchdog.md.
constexpr uint64_t kNeededBytes = uint64_t{256} << 20;

// Of a line "NAME:  NUMBER kB" of /proc/self/status; 0 where there is none.
uint64_t ReadBytes(std::string_view status, std::string_view line_start) {
  const size_t at = status.find(line_start);
  uint64_t kib = 0;
  if (at == std::string_view::npos) return 0;
  status.remove_prefix(at + line_start.size());
  while (!status.empty() && status.front() == '\t') status.remove_prefix(1);
  return base::ConsumeDecimal(&status, &kib) ? kib << 10 : 0;
}

bool LeavesRoom(int resource, std::string_view status, std::string_view line_start) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return true;
  const uint64_t used_bytes = ReadBytes(status, line_start);
  return used_bytes + kNeededBytes <= limit.rlim_cur;
}

Status CheckMemory() {
  char buffer[8192];
  const std::string_view status = base::ReadSmallFile("/proc/self/status", buffer, sizeof buffer);
  if (LeavesRoom(RLIMIT_AS, status, "\nVmSize:") && LeavesRoom(RLIMIT_DATA, status, "\nVmData:")) return {};
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

Status CheckCanRunHere(bool seccomp_is_allowed) {
  if (Status status = CheckMemory(); !status.ok()) return status;
  return seccomp_is_allowed ? Status() : CheckSeccomp();
}

}  // namespace lagwatch::sdk
