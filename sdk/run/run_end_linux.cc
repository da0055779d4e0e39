// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/owned_fd.h"
#include "base/process/proc_file.h"
#include "base/system/file_calls.h"
#include "sdk/run/run_end.h"
#include "sdk/run/run_record.h"

namespace lagwatch::sdk {
namespace {

// struct pidfd_info of Linux 6.13, and its flag of 6.15: <linux/pidfd.h>.
struct PidfdInfo {
  uint64_t mask;
  uint64_t control_group;
  uint32_t ids[11];
  int32_t exit_status;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kWithExit = 1 << 3;
constexpr unsigned long kGetInfo = _IOWR(0xff, 11, PidfdInfo);

// Of a process that was not waited for yet, in state Z: the last field of proc_pid_stat(5). It is 0, too, for
// a reader who may not know.
std::optional<int> ReadZombieStatus(pid_t pid) {
  char buffer[1024];
  const base::ProcessPath path(base::Process::Other(pid), "stat");
  std::string_view stat = base::ReadSmallFile(path.c_str(), buffer, sizeof buffer);
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos || !stat.substr(name_end).starts_with(") Z")) return std::nullopt;
  std::string_view last = stat.substr(stat.rfind(' ') + 1);
  uint64_t status = 0;
  const bool is_known = base::ConsumeDecimal(&last, &status) && status != 0;
  return is_known ? std::optional(static_cast<int>(status)) : std::nullopt;
}

// The kernel sends it for what the thread itself did; others may come from anywhere.
bool IsOwnFault(int signal) {
  constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
  return std::ranges::find(kFaults, signal) != std::end(kFaults);
}

bool IsRequestToStop(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGHUP; }

// The marks that a record of a run with that end should have; false: as it is.
bool AddEnd(const RunRecord& record, int status, RunMarks* marks) {
  if (WIFEXITED(status)) {
    marks->has_ended = 1;
  } else if (!WIFSIGNALED(status) || WTERMSIG(status) == SIGKILL) {
    return false;
  } else if (IsRequestToStop(WTERMSIG(status))) {
    marks->was_asked_to_stop = 1;
  } else if (record.was_in_hang() && !IsOwnFault(WTERMSIG(status))) {
    return false;  // for example by a service manager that has lost patience: killed in the hang
  } else {
    marks->crash_signal = static_cast<uint32_t>(WTERMSIG(status));
    const CrashMoment moment = record.was_in_hang() ? CrashMoment::kInHang : CrashMoment::kOutsideHang;
    marks->crash_moment = static_cast<uint32_t>(moment);
    marks->crash_wall_ms = base::SystemClock().WallMs();
  }
  return true;
}

// False if it is not the process's, or needs nothing.
bool TryNote(int fd, pid_t pid, uint64_t start_ticks, int status) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  std::string bytes(RunPage::kBytes, '\0');
  RunRecord record;
  if (pread(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
      ParseRunRecord(bytes, &record) != RunFile::kRecord)
    return false;
  const bool is_of_process =
      record.run.pid == static_cast<uint32_t>(pid) && record.run.start_ticks == start_ticks;
  if (!is_of_process || record.has_ended || record.crash_signal != 0) return false;
  RunMarks marks;
  bytes.copy(reinterpret_cast<char*>(&marks), sizeof marks, RunPage::kMarksAt);
  return AddEnd(record, status, &marks) &&
         pwrite(fd, &marks, sizeof marks, RunPage::kMarksAt) == static_cast<ssize_t>(sizeof marks);
}

}  // namespace

std::optional<int> ReadExitStatus(int pidfd, pid_t pid) {
  PidfdInfo info{};
  info.mask = kWithExit;
  // Known only once the parent has waited: before that, the process is in /proc.
  for (int look = 0; look < 2; ++look) {
    if (ioctl(pidfd, kGetInfo, &info) == 0 && (info.mask & kWithExit) != 0) return info.exit_status;
    if (const auto status = ReadZombieStatus(pid)) return status;
    info.mask = kWithExit;
  }
  return std::nullopt;
}

int NoteExitStatus(const std::string& spool_directory, pid_t pid, uint64_t start_ticks, int status) {
  const std::string path = spool_directory + "/" + kRunDirectoryName;
  const base::OwnedFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.get() < 0 || start_ticks == 0) return 0;
  std::vector<std::string> names;
  base::ForEachNameIn(directory.get(), [&](const char* name) {
    if (std::string_view(name).ends_with(kRunSuffix)) names.emplace_back(name);
    return true;
  });
  int noted = 0;
  for (const std::string& name : names) {
    const base::OwnedFd fd(
        openat(directory.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() >= 0 && TryNote(fd.get(), pid, start_ticks, status)) ++noted;
  }
  return noted;
}

}  // namespace lagwatch::sdk
