// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/waits/peers/shared_memory.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {

SharedFile SharedFileAt(const base::Process& process, uint64_t address) {
  char lines[16 * 1024];
  SharedFile file;
  base::ForEachLine(base::ProcessPath(process, "maps").c_str(), lines, [&](std::string_view line) {
    uint64_t begin = 0;
    uint64_t end = 0;
    if (!base::ConsumeHex(&line, &begin) || line.empty()) return true;
    line.remove_prefix(1);
    if (!base::ConsumeHex(&line, &end) || address < begin || address >= end || line.size() < 6) return true;
    if (line[4] != 's') return false;  // " rw-s"
    line.remove_prefix(6);
    uint64_t offset = 0;
    if (!base::ConsumeHex(&line, &offset) || line.empty()) return false;
    line.remove_prefix(1);
    const size_t device_end = line.find(' ');
    const size_t inode_end = device_end == line.npos ? line.npos : line.find(' ', device_end + 1);
    constexpr std::string_view kNoInode = " 0 ";
    if (inode_end == line.npos || line.substr(device_end).starts_with(kNoInode)) return false;
    line = line.substr(0, std::min(inode_end + 1, sizeof file.text - 1));
    std::ranges::copy(line, file.text);
    return false;
  });
  return file;
}

bool MapsFile(int32_t pid, const SharedFile& file) {
  if (file.IsNone()) return false;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/maps", pid);
  char lines[16 * 1024];
  bool is_found = false;
  base::ForEachLine(path, lines, [&](std::string_view line) {
    const size_t at = line.find(file.text);
    is_found = at != std::string_view::npos && at != 0 && line[at - 1] == ' ';
    return !is_found;
  });
  return is_found;
}

uint32_t FindSharers(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t budget_ns,
                     int32_t* last_pid) {
  const int64_t deadline_ns = SearchClockNs() + budget_ns;
  const SharedFile file = SharedFileAt(thread.process, blocked.arguments[0]);
  if (file.IsNone()) return 0;
  const int32_t own_pid = thread.process.proc_id();
  uint32_t count = 0;
  base::ForEachNumberIn("/proc", [&](int pid) {
    if (pid != own_pid && MapsFile(pid, file)) {
      *last_pid = pid;
      ++count;
    }
    return SearchClockNs() < deadline_ns;
  });
  return count;
}

}  // namespace lagwatch::watchdog
