// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/process/quiet_thread.h"
#include "policies/fact_names.h"
#include "watchdog/loops/outside_looks.h"
#include "watchdog/report_facts.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kNotKnown = -1;

void AddIfKnown(const char* name, int64_t number, FactList* facts) {
  if (number != kNotKnown) facts->Add(name, number);
}

int64_t NumberOf(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t number = 0;
  return base::ConsumeDecimal(&text, &number) ? static_cast<int64_t>(number) : kNotKnown;
}

// Of the line of `lines` that begins with `key`.
int64_t NumberAfter(std::string_view lines, std::string_view key) {
  const auto number = base::NumberInLine(lines, key);
  return number ? static_cast<int64_t>(*number) : kNotKnown;
}

// "12.34" is 12340 with a `scale` of 1000: so many make 1.
int64_t DecimalOf(std::string_view text, int64_t scale) {
  uint64_t whole = 0;
  if (!base::ConsumeDecimal(&text, &whole)) return kNotKnown;
  int64_t number = static_cast<int64_t>(whole) * scale;
  if (!text.starts_with('.')) return number;
  for (size_t i = 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    scale /= 10;
    number += (text[i] - '0') * scale;
  }
  return number;
}

// A path in a buffer of its own.
class Path {
 public:
  Path(std::string_view root, std::string_view group, std::string_view leaf) {
    for (std::string_view part : {root, group, leaf}) {
      size_t taken = std::min(part.size(), sizeof text_ - 1 - size_);
      std::copy_n(part.data(), taken, text_ + size_);
      size_ += taken;
    }
    text_[size_] = '\0';
  }
  const char* c_str() const { return text_; }

 private:
  char text_[768];
  size_t size_ = 0;
};

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

// The share of the last 10 s in which some, or all, of the machine's work waited for it.
void AddPressure(const char* path, const char* some_name, const char* full_name, FactList* facts) {
  constexpr int64_t kPermillePerPercent = 10;
  constexpr std::string_view kAverage = "avg10=";
  char buffer[256];
  std::string_view lines = base::ReadSmallFile(path, buffer, sizeof buffer);
  auto average = [&](std::string_view kind) {
    size_t line = lines.find(kind);
    size_t at = line == std::string_view::npos ? line : lines.find(kAverage, line);
    if (at == std::string_view::npos) return kNotKnown;
    return DecimalOf(lines.substr(at + kAverage.size()), kPermillePerPercent);
  };
  AddIfKnown(some_name, average("some "), facts);
  if (full_name != nullptr) AddIfKnown(full_name, average("full "), facts);
}

void AddMachine(FactList* facts) {
  char buffer[128];
  std::string_view load = base::ReadSmallFile("/proc/loadavg", buffer, sizeof buffer);
  AddIfKnown("load_1min_permille", DecimalOf(load, 1000), facts);
  AddPressure("/proc/pressure/cpu", "cpu_pressure_permille", nullptr, facts);
  AddPressure("/proc/pressure/memory", "memory_pressure_permille", "memory_full_pressure_permille", facts);
  AddPressure("/proc/pressure/io", "io_pressure_permille", "io_full_pressure_permille", facts);
}

// The files to read of a control group, in its version.
struct GroupFiles {
  const char* usage;
  const char* limit;
  const char* events;  // …/memory.events or memory.oom_control
  const char* cpu;
};
constexpr GroupFiles kVersion2{"/memory.current", "/memory.max", "/memory.events", "/cpu.stat"};
constexpr GroupFiles kVersion1{"/memory.usage_in_bytes", "/memory.limit_in_bytes", "/memory.oom_control",
                               "/cpu.stat"};

int64_t NumberInFile(const Path& path) {
  char buffer[64];
  return NumberOf(base::ReadSmallFile(path.c_str(), buffer, sizeof buffer));
}

// Of the group itself, or the nearest one around it that has a limit: that one binds.
bool AddGroupMemory(std::string_view root, std::string_view group, const GroupFiles& files, FactList* facts) {
  constexpr int kMaxLevels = 16;
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 says so by a number like that
  if (NumberInFile({root, group, files.usage}) == kNotKnown) return false;
  std::string_view level = group;
  std::string_view bound = group;
  int64_t limit_bytes = kNotKnown;
  for (int i = 0; i < kMaxLevels; ++i) {
    int64_t found_bytes = NumberInFile({root, level, files.limit});
    if (found_bytes != kNotKnown && found_bytes < kNoLimit) {
      bound = level;
      limit_bytes = found_bytes;
      break;
    }
    if (level.empty()) break;
    level = level.substr(0, level.rfind('/'));
  }
  AddIfKnown("cgroup_memory_bytes", NumberInFile({root, bound, files.usage}), facts);
  AddIfKnown("cgroup_memory_limit_bytes", limit_bytes, facts);
  char buffer[512];
  std::string_view events =
      base::ReadSmallFile(Path(root, bound, files.events).c_str(), buffer, sizeof buffer);
  AddIfKnown("cgroup_memory_high_events", NumberAfter(events, "high "), facts);
  AddIfKnown("cgroup_memory_limit_events", NumberAfter(events, "max "), facts);
  AddIfKnown("cgroup_oom_events", NumberAfter(events, "oom "), facts);
  AddIfKnown("cgroup_oom_kills", NumberAfter(events, "oom_kill "), facts);
  return true;
}

bool AddGroupThrottling(std::string_view root, std::string_view group, const GroupFiles& files,
                        FactList* facts) {
  char buffer[1024];
  std::string_view counts = base::ReadSmallFile(Path(root, group, files.cpu).c_str(), buffer, sizeof buffer);
  int64_t times = NumberAfter(counts, "nr_throttled ");
  if (times == kNotKnown) return false;
  facts->Add("cgroup_throttled_times", times);
  int64_t throttled_us = NumberAfter(counts, "throttled_usec ");
  int64_t throttled_ns = NumberAfter(counts, "throttled_time ");
  if (throttled_us != kNotKnown) facts->Add("cgroup_throttled_ms", throttled_us / 1000);
  if (throttled_ns != kNotKnown) facts->Add("cgroup_throttled_ms", throttled_ns / base::kNsPerMs);
  return true;
}

// Whether the comma-separated `list` has `name`.
bool Lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    std::string_view one = list.substr(0, list.find(','));
    if (one == name) return true;
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return false;
}

// Reads a group by its path, or by the root where the process has only a view of its own.
template <typename Add>
bool AddGroup(std::string_view group, std::array<std::string_view, 2> roots, Add add) {
  if (group == "/") group = {};
  for (std::string_view root : roots) {
    if (add(root, group) || (!group.empty() && add(root, std::string_view()))) return true;
  }
  return false;
}

// Lines "0::/group" (version 2) and "4:cpu,cpuacct:/group" (version 1); a controller is in one of them.
void AddControlGroups(const base::Process& process, FactList* facts) {
  char buffer[4096];
  std::string_view lines =
      base::ReadSmallFile(base::ProcessPath(process, "cgroup").c_str(), buffer, sizeof buffer);
  bool has_memory = false;
  bool has_cpu = false;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    size_t first = line.find(':');
    size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string_view group = line.substr(second + 1);
    bool is_version_2 = controllers.empty();
    auto add_memory = [&](std::string_view root, std::string_view path) {
      return AddGroupMemory(root, path, is_version_2 ? kVersion2 : kVersion1, facts);
    };
    auto add_cpu = [&](std::string_view root, std::string_view path) {
      return AddGroupThrottling(root, path, is_version_2 ? kVersion2 : kVersion1, facts);
    };
    constexpr std::array<std::string_view, 2> kUnified = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    if (!has_memory && (is_version_2 || Lists(controllers, "memory"))) {
      has_memory = AddGroup(
          group,
          is_version_2 ? kUnified
                       : std::array<std::string_view, 2>{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"},
          add_memory);
    }
    if (!has_cpu && (is_version_2 || Lists(controllers, "cpu"))) {
      has_cpu = AddGroup(
          group,
          is_version_2 ? kUnified
                       : std::array<std::string_view, 2>{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"},
          add_cpu);
    }
  }
}

}  // namespace

void AddThreadFacts(int32_t tid, const WatchTools& tools, FactList* facts) {
  facts->Add("foreground", tools.is_foreground() ? 1 : 0);
  if (tid == found_frozen_tid.load(std::memory_order_relaxed)) facts->Add(policies::kAtLeastFact, 1);
  // Fields of proc_pid_stat(5), counted from the first one after the thread's name, which may hold anything.
  constexpr size_t kNiceField = 16;
  constexpr size_t kRealtimePriorityField = 37;
  constexpr size_t kPolicyField = 38;
  constexpr std::array<const char*, 7> kPolicies = {"other", "fifo", "rr",      "batch",
                                                    nullptr, "idle", "deadline"};
  char buffer[1024];
  std::string_view stat =
      base::ReadSmallFile(base::TaskPath(tools.thread(tid), "stat").c_str(), buffer, sizeof buffer);
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return;
  stat.remove_prefix(name_end + 2);
  for (size_t field = 0; !stat.empty(); ++field) {
    const std::string_view text = stat.substr(0, stat.find(' '));
    stat.remove_prefix(std::min(text.size() + 1, stat.size()));
    const bool is_negative = text.starts_with('-');
    const int64_t number = NumberOf(text.substr(is_negative ? 1 : 0));
    if (number == kNotKnown) continue;
    if (field == kNiceField) facts->Add("nice", is_negative ? -number : number);
    if (field == kRealtimePriorityField && number != 0) facts->Add("realtime_priority", number);
    if (field != kPolicyField || static_cast<size_t>(number) >= kPolicies.size()) continue;
    if (kPolicies[static_cast<size_t>(number)] != nullptr)
      facts->AddText("scheduling_policy", kPolicies[static_cast<size_t>(number)]);
  }
}

void AddProcessFacts(const WatchTools& tools, FactList* facts) {
  const base::Process& process = tools.process();
  if (!process.is_own()) facts->AddText("evidence", "outside");
  if (window_is_unanswered.load(std::memory_order_relaxed)) facts->AddText("window_ping", "unanswered");
  AddMemoryAndThreads(process, facts);
  AddIfKnown("open_fds", OpenFiles(process), facts);
  AddIfKnown("open_fds_limit", OpenFilesLimit(process), facts);
  AddMachine(facts);
  AddControlGroups(process, facts);
  AddOwnCost(tools, facts);
}

}  // namespace lagwatch::watchdog
