// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/process/quiet_thread.h"
#include "base/system/file_calls.h"

namespace lagwatch::base {
namespace {

constexpr rlim_t kMostDescriptors = 1 << 16;  // that are tried where they cannot be listed

// For Linux before 5.9. Descriptors closed here stay open in the program, whose table is a different
// one by then.
bool LeaveFileTableByUnshare() {
  if (unshare(CLONE_FILES) != 0) return false;
  rlimit limit{};
  const int directory = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    for (rlim_t fd = 0; fd < std::min<rlim_t>(limit.rlim_cur, kMostDescriptors); ++fd)
      close(static_cast<int>(fd));
    return true;
  }
  ForEachNameIn(directory, [=](const char* text) {
    std::string_view name = text;
    uint64_t fd = 0;
    if (ConsumeDecimal(&name, &fd) && static_cast<int>(fd) != directory) close(static_cast<int>(fd));
    return true;
  });
  close(directory);
  return true;
}

bool LeaveFileTable() {
#if defined(__SANITIZE_THREAD__)  // it knows one table for all threads
  return false;
#elif defined(SYS_close_range)
  constexpr unsigned kUnshareFirst = 1U << 1;  // CLOSE_RANGE_UNSHARE, which older headers lack
  return syscall(SYS_close_range, 0U, ~0U, kUnshareFirst) == 0 || LeaveFileTableByUnshare();
#else
  return LeaveFileTableByUnshare();
#endif
}

// The program's chroot(2), chdir(2) and umask(2) are not to move or hide the files that the thread opens.
void LeaveFileSystem() {
  if (unshare(CLONE_FS) == 0) umask(0077);
}

}  // namespace

const bool internal::kThreadsCanHaveOwnFiles = true;

bool internal::LeaveProgramFiles() {
  const bool has_own_table = LeaveFileTable();
  LeaveFileSystem();
  return has_own_table;
}

bool LeaveFileTableByUnshareForTest() { return LeaveFileTableByUnshare(); }

}  // namespace lagwatch::base
