// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "watchdog/facts/group_facts.h"
#include "watchdog/facts/kernel_numbers.h"

namespace lagwatch::watchdog {
namespace {

// The path of a file of a control group, in a buffer of its own.
class GroupPath {
 public:
  GroupPath(std::string_view root, std::string_view group, std::string_view leaf) {
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

int64_t NumberInFile(const GroupPath& path) {
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
      base::ReadSmallFile(GroupPath(root, bound, files.events).c_str(), buffer, sizeof buffer);
  AddIfKnown("cgroup_memory_high_events", NumberAfter(events, "high "), facts);
  AddIfKnown("cgroup_memory_limit_events", NumberAfter(events, "max "), facts);
  AddIfKnown("cgroup_oom_events", NumberAfter(events, "oom "), facts);
  AddIfKnown("cgroup_oom_kills", NumberAfter(events, "oom_kill "), facts);
  return true;
}

bool AddGroupThrottling(std::string_view root, std::string_view group, const GroupFiles& files,
                        FactList* facts) {
  char buffer[1024];
  std::string_view counts =
      base::ReadSmallFile(GroupPath(root, group, files.cpu).c_str(), buffer, sizeof buffer);
  int64_t times = NumberAfter(counts, "nr_throttled ");
  if (times == kNotKnown) return false;
  facts->Add("cgroup_throttled_times", times);
  int64_t throttled_us = NumberAfter(counts, "throttled_usec ");
  int64_t throttled_ns = NumberAfter(counts, "throttled_time ");
  if (throttled_us != kNotKnown) facts->Add("cgroup_throttled_ms", throttled_us / 1000);
  if (throttled_ns != kNotKnown) facts->Add("cgroup_throttled_ms", throttled_ns / base::kNsPerMs);
  return true;
}

// The bytes that the group has read and written on all block devices, ever: lines "254:0 rbytes=4096 …".
void AddTransfers(std::string_view root, std::string_view group, FactList* facts) {
  char buffer[4096];
  const std::string_view lines =
      base::ReadSmallFile(GroupPath(root, group, "/io.stat").c_str(), buffer, sizeof buffer);
  const auto sum = [&](std::string_view key) {
    int64_t bytes = kNotKnown;
    for (size_t at = lines.find(key); at != std::string_view::npos; at = lines.find(key, at + 1)) {
      const int64_t number = NumberOf(lines.substr(at + key.size()));
      if (number != kNotKnown) bytes = std::max<int64_t>(bytes, 0) + number;
    }
    return bytes;
  };
  AddIfKnown("cgroup_read_bytes", sum(" rbytes="), facts);
  AddIfKnown("cgroup_written_bytes", sum(" wbytes="), facts);
}

}  // namespace

bool AddGroupPressure(std::string_view root, std::string_view group, FactList* facts) {
  // The machine's own group, which has no such file, is the machine.
  char buffer[128];
  const std::string_view events =
      base::ReadSmallFile(GroupPath(root, group, "/cgroup.events").c_str(), buffer, sizeof buffer);
  if (NumberAfter(events, "populated ") == kNotKnown) return false;
  const auto add = [&](std::string_view leaf, PressureFacts names) {
    AddPressure(GroupPath(root, group, leaf).c_str(), names, facts);
  };
  add("/cpu.pressure", {"cgroup_cpu_pressure_permille", "cgroup_cpu_full_pressure_permille"});
  add("/memory.pressure", {"cgroup_memory_pressure_permille", "cgroup_memory_full_pressure_permille"});
  add("/io.pressure", {"cgroup_io_pressure_permille", "cgroup_io_full_pressure_permille"});
  AddTransfers(root, group, facts);
  return true;
}

namespace {

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

}  // namespace

// Lines "0::/group" (version 2) and "4:cpu,cpuacct:/group" (version 1); a controller is in one of them.
void AddGroupFacts(const base::Process& process, FactList* facts) {
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
    if (is_version_2) {
      AddGroup(group, kUnified, [&](std::string_view root, std::string_view path) {
        return AddGroupPressure(root, path, facts);
      });
    }
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

}  // namespace lagwatch::watchdog
