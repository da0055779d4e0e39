// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "base/process/proc_file.h"
#include "stack/threads/thread_state.h"
#include "watchdog/facts/kernel_numbers.h"
#include "watchdog/facts/schedule_changes.h"
#include "watchdog/facts/schedule_facts.h"

namespace lagwatch::watchdog {
namespace {

constexpr std::array<const char*, 8> kPolicies = {"other", "fifo", "rr",       "batch",
                                                  "",      "idle", "deadline", "ext"};

// Fields of proc_pid_stat(5), counted from the first one after the thread's name, which may hold anything.
bool ReadStat(const base::Thread& thread, Schedule* schedule) {
  constexpr size_t kNiceField = 16;
  constexpr size_t kProcessorField = 36;
  constexpr size_t kRealtimePriorityField = 37;
  constexpr size_t kPolicyField = 38;
  char buffer[1024];
  std::string_view stat = base::ReadSmallFile(base::TaskPath(thread, "stat").c_str(), buffer, sizeof buffer);
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos) return false;
  stat.remove_prefix(name_end + 2);
  for (size_t field = 0; !stat.empty(); ++field) {
    const std::string_view text = stat.substr(0, stat.find(' '));
    stat.remove_prefix(std::min(text.size() + 1, stat.size()));
    const bool is_negative = text.starts_with('-');
    const int64_t number = NumberOf(text.substr(is_negative ? 1 : 0));
    if (number == kNotKnown) continue;
    if (field == kNiceField) schedule->nice = is_negative ? -number : number;
    if (field == kProcessorField) schedule->last_processor = static_cast<int32_t>(number);
    if (field == kRealtimePriorityField) schedule->realtime_priority = number;
    if (field == kPolicyField && static_cast<size_t>(number) < kPolicies.size())
      schedule->policy = kPolicies[static_cast<size_t>(number)];
  }
  return true;
}

void ReadAffinity(const base::Thread& thread, Schedule* schedule) {
  std::array<unsigned long, 128> mask{};  // 8,192 processors
  const int32_t tid = thread.process.is_own() ? thread.tid : 0;
  if (tid == 0 || sched_getaffinity(tid, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) != 0) return;
  uint64_t hash = base::kFnvOffsetBasis;
  for (const unsigned long word : mask) {
    schedule->processors += __builtin_popcountl(word);
    hash = base::HashWord(word, hash);
  }
  schedule->affinity_hash = hash;
}

// Of version 2, or the one of the processor's controller.
void ReadGroup(const base::Thread& thread, Schedule* schedule) {
  char buffer[2048];
  base::ForEachLine(base::TaskPath(thread, "cgroup").c_str(), buffer, [&](std::string_view line) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return true;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool is_of_processor = controllers.starts_with("cpu,") || controllers == "cpu" ||
                                 controllers.find(",cpu") != std::string_view::npos;
    if (!controllers.empty() && !is_of_processor) return true;
    const std::string_view group = line.substr(second + 1);
    schedule->group[group.copy(schedule->group, sizeof schedule->group - 1)] = '\0';
    return controllers.empty();
  });
}

}  // namespace

Schedule ReadSchedule(const base::Thread& thread) {
  Schedule schedule;
  schedule.is_known = ReadStat(thread, &schedule);
  if (!schedule.is_known) return schedule;
  ReadAffinity(thread, &schedule);
  ReadGroup(thread, &schedule);
  return schedule;
}

void AddSchedule(const Schedule& schedule, FactList* facts) {
  if (!schedule.is_known) return;
  facts->Add("nice", schedule.nice);
  if (schedule.realtime_priority != 0) facts->Add("realtime_priority", schedule.realtime_priority);
  if (*schedule.policy != '\0') facts->AddText("scheduling_policy", schedule.policy);
  if (schedule.processors != 0) facts->Add("processors_allowed", schedule.processors);
}

void ScheduleWatch::AddChanges(const Schedule& now, const base::Thread& thread, int64_t now_ns,
                               stack::CodeMap* code, FactList* facts) {
  if (!now.is_known) return;
  before_ = last_;
  bool has_changed = false;
  const auto add_if = [&](bool is_other, auto&& add) {
    has_changed = has_changed || is_other;
    if (is_other) add();
  };
  if (before_.is_known) {
    add_if(before_.nice != now.nice, [&] { facts->Add("nice_before", before_.nice); });
    add_if(before_.realtime_priority != now.realtime_priority,
           [&] { facts->Add("realtime_priority_before", before_.realtime_priority); });
    add_if(std::strcmp(before_.policy, now.policy) != 0,
           [&] { facts->AddText("scheduling_policy_before", before_.policy); });
    add_if(before_.affinity_hash != now.affinity_hash,
           [&] { facts->Add("processors_allowed_before", before_.processors); });
    add_if(std::strcmp(before_.group, now.group) != 0,
           [&] { facts->AddText("cgroup_before", before_.group); });
  }
  if (has_changed) facts->Add("scheduling_changed_within_ms", (now_ns - since_ns_) / base::kNsPerMs);
  AddCaller(thread, now_ns, code, facts);
  Keep(now, now_ns);
}

void ScheduleWatch::AddCaller(const base::Thread& thread, int64_t now_ns, stack::CodeMap* code,
                              FactList* facts) {
  ScheduleChange change{};
  if (!thread.process.is_own() || !ProcessScheduleChanges().Find(thread.tid, since_ns_, &change)) return;
  char name[32] = "";
  stack::ReadThreadName({thread.process, change.caller_tid}, name, sizeof name);
  const stack::Frame frame = code->Resolve(change.return_address);
  std::string_view module = "?";
  if (frame.module != stack::kNoModule) {
    module = code->modules().module(frame.module).path_view();
    module.remove_prefix(module.rfind('/') + 1);
  }
  const bool is_itself = change.caller_tid == thread.tid;
  std::snprintf(caller_, sizeof caller_, "%s() in %.*s+0x%llx, by %s%.*s", change.call,
                static_cast<int>(std::min<size_t>(module.size(), 100)), module.data(),
                static_cast<unsigned long long>(frame.offset), is_itself ? "the thread itself" : "thread ",
                is_itself ? 0 : 32, name);
  facts->AddText("scheduling_changed_by", caller_);
  facts->Add("scheduling_changed_ms", (now_ns - change.mono_ns) / base::kNsPerMs);
}

}  // namespace lagwatch::watchdog
