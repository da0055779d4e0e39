// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "stack/threads/thread_counters.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kMaxPathBytes = 512;
constexpr int kMaxGroupLevels = 16;

// 0 when there is none.
int64_t NumberAfter(std::string_view lines, std::string_view key) {
  return static_cast<int64_t>(base::NumberInLine(lines, key).value_or(0));
}

// Takes a field off the front, up to the next blank.
std::string_view ConsumeField(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  std::string_view field = text->substr(0, text->find(' '));
  text->remove_prefix(field.size());
  return field;
}

// The part of a line of /proc/PID/cgroup behind its controllers, if the group can have a quota.
std::string_view CpuGroupOf(std::string_view line, bool* is_version_2) {
  size_t first = line.find(':');
  size_t second = line.find(':', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  std::string_view controllers = line.substr(first + 1, second - first - 1);
  *is_version_2 = controllers.empty();
  bool is_cpu = *is_version_2 || controllers == "cpu" || controllers.starts_with("cpu,") ||
                controllers.ends_with(",cpu");
  return is_cpu ? line.substr(second + 1) : std::string_view();
}

// A path in a buffer of its own.
struct GroupPath {
  char text[kMaxPathBytes];
  size_t size_bytes = 0;

  bool Append(std::string_view part) {
    if (part.size() >= sizeof text - size_bytes) return false;
    std::copy_n(part.data(), part.size(), text + size_bytes);
    size_bytes += part.size();
    text[size_bytes] = '\0';
    return true;
  }
};

bool AddGroup(std::string_view root, std::string_view group, bool is_version_2, ThrottleCounters* counters) {
  GroupPath path;
  char buffer[1024];
  if (!path.Append(root) || !path.Append(group) || !path.Append("/cpu.stat")) return false;
  std::string_view text = base::ReadSmallFile(path.text, buffer, sizeof buffer);
  if (text.empty()) return false;
  counters->times += NumberAfter(text, "nr_throttled ");
  counters->throttled_ns +=
      is_version_2 ? NumberAfter(text, "throttled_usec ") * 1000 : NumberAfter(text, "throttled_time ");
  return true;
}

// The group and all around it, as its path or, where the process has only a view of its own, the root.
void AddGroupsAround(std::string_view group, bool is_version_2, ThrottleCounters* counters) {
  constexpr std::array<std::string_view, 2> kVersion2Roots = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
  constexpr std::array<std::string_view, 2> kVersion1Roots = {"/sys/fs/cgroup/cpu",
                                                              "/sys/fs/cgroup/cpu,cpuacct"};
  for (std::string_view root : is_version_2 ? kVersion2Roots : kVersion1Roots) {
    std::string_view level = group == "/" ? std::string_view() : group;
    bool is_found = false;
    for (int i = 0; i < kMaxGroupLevels; ++i) {
      is_found = AddGroup(root, level, is_version_2, counters) || is_found;
      if (level.empty()) break;
      level = level.substr(0, level.rfind('/'));
    }
    if (is_found) return;
  }
}

}  // namespace

bool ReadThreadStat(const base::Thread& thread, ThreadStat* stat, const ThreadFiles* files) {
  *stat = {};
  // proc_pid_stat(5)'s numbers of the fields.
  constexpr int kState = 3;
  constexpr int kMinorFaults = 10;
  constexpr int kMajorFaults = 12;
  constexpr int kUserTicks = 14;
  constexpr int kKernelTicks = 15;
  constexpr int kStartTicks = 22;
  constexpr int kBlockIoTicks = 42;
  const int64_t tick_ns = base::kNsPerSecond / std::max(sysconf(_SC_CLK_TCK), 1L);

  char buffer[1024];
  std::string_view text = ReadThreadFile(thread, ThreadFile::kState, files, buffer, sizeof buffer);
  size_t name_end = text.rfind(')');  // the name itself may hold anything
  if (name_end == std::string_view::npos) return false;
  text.remove_prefix(name_end + 1);
  for (int number = kState; number <= kBlockIoTicks; ++number) {
    std::string_view field = ConsumeField(&text);
    if (field.empty()) return number > kState;
    uint64_t value = 0;
    base::ConsumeDecimal(&field, &value);
    int64_t signed_value = static_cast<int64_t>(value);
    if (number == kState) stat->state = field[0];
    if (number == kMinorFaults) stat->minor_faults = signed_value;
    if (number == kMajorFaults) stat->major_faults = signed_value;
    if (number == kUserTicks) stat->user_ns = signed_value * tick_ns;
    if (number == kKernelTicks) stat->kernel_ns = signed_value * tick_ns;
    if (number == kStartTicks) stat->start_boot_ns = signed_value * tick_ns;
    if (number == kBlockIoTicks) stat->block_io_ns = signed_value * tick_ns;
  }
  return true;
}

int64_t ReadRunQueueNs(const base::Thread& thread, const ThreadFiles* files) {
  char buffer[128];
  std::string_view text = ReadThreadFile(thread, ThreadFile::kCounters, files, buffer, sizeof buffer);
  uint64_t run_ns = 0;
  uint64_t wait_ns = 0;
  const bool is_known = base::ConsumeDecimal(&text, &run_ns) && base::ConsumeDecimal(&text, &wait_ns);
  return is_known ? static_cast<int64_t>(wait_ns) : -1;
}

int64_t ReadTurns(int counters_fd) {
  char buffer[128];
  const ssize_t size = pread(counters_fd, buffer, sizeof buffer, 0);
  std::string_view text(buffer, size < 0 ? 0 : static_cast<size_t>(size));
  uint64_t turns = 0;
  for (int field = 0; field < 3; ++field) {  // on a processor, waiting for one, turns
    if (!base::ConsumeDecimal(&text, &turns)) return -1;
  }
  return static_cast<int64_t>(turns);
}

int64_t ReadIoCalls(const base::Thread& thread) {
  char buffer[512];
  const std::string_view text =
      base::ReadSmallFile(base::TaskPath(thread, "io").c_str(), buffer, sizeof buffer);
  const auto reads = base::NumberInLine(text, "syscr:");
  const auto writes = base::NumberInLine(text, "syscw:");
  return reads && writes ? static_cast<int64_t>(*reads + *writes) : -1;
}

bool ReadSchedulerCounters(const base::Thread& thread, SchedulerCounters* counters,
                           const ThreadFiles* files) {
  *counters = {.run_queue_ns = std::max<int64_t>(ReadRunQueueNs(thread, files), 0)};
  char buffer[4096];
  const std::string_view text = ReadThreadFile(thread, ThreadFile::kStatus, files, buffer, sizeof buffer);
  const auto voluntary = base::NumberInLine(text, "voluntary_ctxt_switches:");
  const auto involuntary = base::NumberInLine(text, "nonvoluntary_ctxt_switches:");
  counters->voluntary_switches = static_cast<int64_t>(voluntary.value_or(0));
  counters->involuntary_switches = static_cast<int64_t>(involuntary.value_or(0));
  return voluntary && involuntary;
}

ThrottleCounters ReadThrottleCounters(const base::Thread& thread) {
  char buffer[4096];
  return ReadThrottleCountersOf(
      base::ReadSmallFile(base::TaskPath(thread, "cgroup").c_str(), buffer, sizeof buffer));
}

ThrottleCounters ReadThrottleCountersOf(std::string_view groups) {
  ThrottleCounters counters;
  while (!groups.empty()) {
    std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    bool is_version_2 = false;
    std::string_view group = CpuGroupOf(line, &is_version_2);
    if (group.starts_with('/')) AddGroupsAround(group, is_version_2, &counters);
  }
  return counters;
}

}  // namespace lagwatch::stack
