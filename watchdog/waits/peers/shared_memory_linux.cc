// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/waits/peers/shared_memory.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {

uint64_t SharedFileAt(const base::Process& process, uint64_t address) {
  char lines[16 * 1024];
  uint64_t inode = 0;
  base::ForEachLine(base::ProcessPath(process, "maps").c_str(), lines, [&](std::string_view line) {
    uint64_t begin = 0;
    uint64_t end = 0;
    if (!base::ConsumeHex(&line, &begin) || line.empty()) return true;
    line.remove_prefix(1);
    if (!base::ConsumeHex(&line, &end) || address < begin || address >= end || line.size() < 6) return true;
    if (line[4] != 's') return false;  // " rw-s"
    line.remove_prefix(6);
    uint64_t ignored = 0;
    if (!base::ConsumeHex(&line, &ignored) || !base::ConsumeHex(&line, &ignored) || line.empty())
      return false;
    line.remove_prefix(1);
    if (base::ConsumeHex(&line, &ignored)) base::ConsumeDecimal(&line, &inode);
    return false;
  });
  return inode;
}

bool MapsFile(int32_t pid, uint64_t inode) {
  if (inode == 0) return false;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/maps", pid);
  char wanted[32];
  const int size = std::snprintf(wanted, sizeof wanted, " %lu ", static_cast<unsigned long>(inode));
  char lines[16 * 1024];
  bool is_found = false;
  base::ForEachLine(path, lines, [&](std::string_view line) {
    is_found = line.find({wanted, static_cast<size_t>(size)}) != std::string_view::npos;
    return !is_found;
  });
  return is_found;
}

uint32_t FindSharers(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t budget_ns,
                     int32_t* last_pid) {
  const int64_t deadline_ns = SearchClockNs() + budget_ns;
  const uint64_t inode = SharedFileAt(thread.process, blocked.arguments[0]);
  if (inode == 0) return 0;
  const int32_t own_pid = thread.process.proc_id();
  uint32_t count = 0;
  base::ForEachNumberIn("/proc", [&](int pid) {
    if (pid != own_pid && MapsFile(pid, inode)) {
      *last_pid = pid;
      ++count;
    }
    return SearchClockNs() < deadline_ns;
  });
  return count;
}

}  // namespace lagwatch::watchdog
