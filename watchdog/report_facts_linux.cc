// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/process/quiet_thread.h"
#include "policies/fact_names.h"
#include "watchdog/facts/group_facts.h"
#include "watchdog/facts/kernel_numbers.h"
#include "watchdog/loops/outside_looks.h"
#include "watchdog/report_facts.h"

namespace lagwatch::watchdog {
namespace {

void AddMemoryAndThreads(const base::Process& process, FactList* facts) {
  constexpr int64_t kKib = 1024;
  char buffer[4096];
  std::string_view status = base::ReadSmallFile(
      process.is_own() ? "/proc/thread-self/status" : base::ProcessPath(process, "status").c_str(), buffer,
      sizeof buffer);
  auto kib = [&](std::string_view key) {
    int64_t number = NumberAfter(status, key);
    return number == kNotKnown ? kNotKnown : number * kKib;
  };
  AddIfKnown("rss_bytes", kib("VmRSS:"), facts);
  AddIfKnown("swap_bytes", kib("VmSwap:"), facts);
  AddIfKnown("threads", NumberAfter(status, "Threads:"), facts);
}

// Linux 6.2 and later report it as the directory's size; else entries are counted, up to a bound.
int64_t OpenFiles(const base::Process& process) {
  struct stat status {};
  const base::ProcessPath folder(process, "fd");
  if (stat(folder.c_str(), &status) == 0 && status.st_size > 0) return status.st_size;
  constexpr int64_t kMostCounted = 4096;
  int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return kNotKnown;
  int64_t count = base::HasOwnFiles() || !process.is_own() ? 0 : -1;  // without our own
  alignas(dirent64) char entries[4096];
  while (count < kMostCounted) {
    long size = syscall(SYS_getdents64, fd, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      count += entry->d_name[0] != '.';
    }
  }
  close(fd);
  return count;
}

// The soft limit; calls fail with EMFILE at it. Not known without a limit.
int64_t OpenFilesLimit(const base::Process& process) {
  char buffer[2048];
  const base::ProcessPath path(process, "limits");
  return NumberAfter(base::ReadSmallFile(path.c_str(), buffer, sizeof buffer), "Max open files");
}

void AddMachine(FactList* facts) {
  char buffer[128];
  std::string_view load = base::ReadSmallFile("/proc/loadavg", buffer, sizeof buffer);
  AddIfKnown("load_1min_permille", DecimalOf(load, 1000), facts);
  AddPressure("/proc/pressure/cpu", {"cpu_pressure_permille", nullptr}, facts);
  AddPressure("/proc/pressure/memory", {"memory_pressure_permille", "memory_full_pressure_permille"}, facts);
  AddPressure("/proc/pressure/io", {"io_pressure_permille", "io_full_pressure_permille"}, facts);
}

}  // namespace

Schedule AddThreadFacts(int32_t tid, const WatchTools& tools, FactList* facts) {
  facts->Add("foreground", tools.is_foreground() ? 1 : 0);
  if (tid == found_frozen_tid.load(std::memory_order_relaxed)) facts->Add(policies::kAtLeastFact, 1);
  const Schedule schedule = ReadSchedule(tools.thread(tid));
  AddSchedule(schedule, facts);
  if (tools.processor_facts != nullptr) tools.processor_facts->Add(schedule.last_processor, facts);
  if (tools.power_facts != nullptr) tools.power_facts->Add(tools.clock->MonoNs(), facts);
  return schedule;
}

void AddProcessFacts(const WatchTools& tools, FactList* facts) {
  const base::Process& process = tools.process();
  if (!process.is_own()) facts->AddText("evidence", "outside");
  AddMemoryAndThreads(process, facts);
  AddIfKnown("open_fds", OpenFiles(process), facts);
  AddIfKnown("open_fds_limit", OpenFilesLimit(process), facts);
  AddMachine(facts);
  AddGroupFacts(process, facts);
  AddOwnCost(tools, facts);
}

}  // namespace lagwatch::watchdog
