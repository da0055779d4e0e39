// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "base/system/seccomp.h"
#include "watchdog/facts/processor_users.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kLookBudgetNs = 5 * base::kNsPerMs;
constexpr int64_t kShortestNs = 20 * base::kNsPerMs;
constexpr int64_t kPermille = 1000;

// "0-3,6" are five.
int64_t CountProcessors() {
  char buffer[512];
  std::string_view list = base::ReadSmallFile("/sys/devices/system/cpu/online", buffer, sizeof buffer);
  int64_t count = 0;
  uint64_t first = 0;
  while (base::ConsumeDecimal(&list, &first)) {
    uint64_t last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      base::ConsumeDecimal(&list, &last);
    }
    count += static_cast<int64_t>(last - first) + 1;
    list.remove_prefix(std::min<size_t>(list.starts_with(','), list.size()));
  }
  return count;
}

struct Identity {
  char name[16] = {};
  std::optional<uint64_t> user;
};

// The effective user owns what the process does.
Identity ReadIdentity(int32_t pid) {
  Identity identity;
  char buffer[1024];
  const std::string_view status = base::ReadSmallFile(
      base::ProcessPath(base::Process::Other(pid), "status").c_str(), buffer, sizeof buffer);
  identity.user = base::NumberInLine(status, "Uid:");
  constexpr std::string_view kName = "Name:\t";
  if (!status.starts_with(kName)) return identity;
  std::string_view name = status.substr(kName.size());
  name = name.substr(0, name.find('\n'));
  // The kernel's own threads have numbers: "kworker/0:1".
  if (name.starts_with("kworker/")) name = "kworker";
  identity.name[name.copy(identity.name, sizeof identity.name - 1)] = '\0';
  return identity;
}

}  // namespace

struct ProcessorUsers::User {
  char name[32];
  int64_t cpu_ns;
  int process_count;
};

ProcessorUsers::ProcessorUsers() : before_(new Record[kMostProcesses]) {}

// "cpu  user nice system idle iowait irq softirq steal …", of which the last ones are parts of others.
ProcessorUsers::MachineTime ProcessorUsers::ReadMachineTime() {
  constexpr size_t kIdleField = 3;
  constexpr size_t kWaitField = 4;
  constexpr size_t kStolenField = 7;
  char buffer[256];
  std::string_view line = base::ReadSmallFile("/proc/stat", buffer, sizeof buffer);
  MachineTime time;
  constexpr std::string_view kAll = "cpu ";
  if (!line.starts_with(kAll)) return time;
  line.remove_prefix(kAll.size());
  uint64_t ticks = 0;
  for (size_t field = 0; field <= kStolenField && base::ConsumeDecimal(&line, &ticks); ++field) {
    const auto value = static_cast<int64_t>(ticks);
    time.all += value;
    if (field == kIdleField || field == kWaitField) time.idle += value;
    if (field == kStolenField) time.stolen = value;
  }
  return time;
}

template <typename Visit>
bool ProcessorUsers::ForEachProcess(Visit visit) {
  const int64_t deadline_ns = SearchClockNs() + kLookBudgetNs;
  bool are_all_seen = true;
  size_t count = 0;
  base::ForEachNumberIn("/proc", [&](int pid) {
    constexpr size_t kPerLookAtTheClock = 16;
    are_all_seen = ++count % kPerLookAtTheClock != 0 || SearchClockNs() < deadline_ns;
    const int64_t cpu_ns = base::Process::Other(pid).CpuNs();
    if (cpu_ns >= 0) are_all_seen = visit(pid, cpu_ns) && are_all_seen;
    return are_all_seen;
  });
  return are_all_seen;
}

void ProcessorUsers::Begin(int64_t since_ns, const base::Process& watched) {
  if (look_ns_ >= since_ns || base::IsConfined()) return;
  if (watched.is_own() && base::HasForeignProcIds()) return;  // clocks go by other ids than /proc
  before_count_ = 0;
  were_all_seen_ = ForEachProcess([&](int32_t pid, int64_t cpu_ns) {
    if (before_count_ == kMostProcesses) return false;
    before_[before_count_++] = {pid, cpu_ns};
    return true;
  });
  machine_ = ReadMachineTime();
  look_ns_ = base::SystemClock().MonoNs();
}

size_t ProcessorUsers::FindGreatest(Record* greatest, int64_t* total_ns) {
  size_t count = 0;
  size_t at = 0;  // /proc lists processes by their number
  const bool are_all_seen = ForEachProcess([&](int32_t pid, int64_t cpu_ns) {
    while (at < before_count_ && before_[at].pid < pid) ++at;
    const bool was_seen = at < before_count_ && before_[at].pid == pid;
    if (!was_seen && !were_all_seen_) return true;                      // it may have been there
    const bool is_the_same = was_seen && before_[at].cpu_ns <= cpu_ns;  // else the number was given again
    const Record used{pid, cpu_ns - (is_the_same ? before_[at].cpu_ns : 0)};
    if (used.cpu_ns == 0) return true;
    *total_ns += used.cpu_ns;
    if (count < kMostUsers) {
      greatest[count++] = used;
    } else {
      Record* least = std::ranges::min_element(greatest, greatest + count, {}, &Record::cpu_ns);
      if (least->cpu_ns < used.cpu_ns) *least = used;
    }
    return true;
  });
  were_all_seen_ = were_all_seen_ && are_all_seen;
  return count;
}

size_t ProcessorUsers::MergeNames(const Record* greatest, size_t count, const base::Process& watched,
                                  bool hides_names, User* users) {
  const auto own_user = ReadIdentity(watched.pid()).user;
  size_t user_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const Record& process = greatest[i];
    const Identity identity = ReadIdentity(process.pid);
    constexpr uint64_t kRoot = 0;
    const bool may_name = !hides_names && (identity.user == kRoot || identity.user == own_user);
    char name[sizeof users->name];
    const char* shown = process.pid == watched.pid() ? "this program"
                        : may_name                   ? identity.name
                        : hides_names                ? "other programs"
                                                     : "another user's programs";
    std::snprintf(name, sizeof name, "%s", shown);
    if (name[0] == '\0') continue;  // it has just ended
    User* user = std::find_if(users, users + user_count,
                              [&](const User& known) { return std::strcmp(known.name, name) == 0; });
    if (user == users + user_count) {
      ++user_count;
      *user = {};
      std::memcpy(user->name, name, sizeof name);
    }
    user->cpu_ns += process.cpu_ns;
    ++user->process_count;
  }
  return user_count;
}

const char* ProcessorUsers::Describe(int64_t since_ns, const base::Process& watched, bool hides_names) {
  constexpr size_t kShown = 3;
  text_[0] = '\0';
  unseen_permille_ = stolen_permille_ = -1;
  const int64_t wall_ns = base::SystemClock().MonoNs() - look_ns_;
  const int64_t all_ns = wall_ns * CountProcessors();
  if (look_ns_ < since_ns || wall_ns < kShortestNs || all_ns == 0) return text_;
  Record greatest[kMostUsers];
  int64_t seen_ns = 0;
  const size_t count = FindGreatest(greatest, &seen_ns);
  const MachineTime machine = ReadMachineTime();
  User users[kMostUsers];
  const size_t user_count = MergeNames(greatest, count, watched, hides_names, users);
  std::ranges::sort(users, users + user_count, std::greater(), &User::cpu_ns);
  size_t size = 0;
  const auto add = [&](const char* format, auto... values) {
    const int written = std::snprintf(text_ + size, sizeof text_ - size, format, values...);
    size = std::min(size + static_cast<size_t>(std::max(written, 0)), sizeof text_ - 1);
  };
  for (size_t i = 0; i < std::min(user_count, kShown); ++i) {
    const auto percent = static_cast<long>(users[i].cpu_ns * 100 / all_ns);
    if (percent == 0) break;
    add("%s%s %ld %%", size != 0 ? ", " : were_all_seen_ ? "" : "at least ", users[i].name, percent);
    if (users[i].process_count > 1) add(" (%d processes)", users[i].process_count);
  }
  constexpr int64_t kFewestTicks = 20;
  const int64_t ticks = machine.all - machine_.all;
  if (ticks < kFewestTicks || machine_.all == 0 || text_[0] == '\0') return text_;
  const int64_t busy = ticks - (machine.idle - machine_.idle) - (machine.stolen - machine_.stolen);
  unseen_permille_ = std::max<int64_t>(busy * kPermille / ticks - seen_ns * kPermille / all_ns, 0);
  stolen_permille_ = (machine.stolen - machine_.stolen) * kPermille / ticks;
  return text_;
}

}  // namespace lagwatch::watchdog
