// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "sdk/moment/thread_survey.h"
#include "sdk/outside/frozen_sleep.h"
#include "stack/stack_capturer.h"
#include "stack/threads/processor_clocks.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/evidence/idle_places.h"
#include "watchdog/thread_time.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::sdk {
namespace {

using policies::Doing;
using stack::BlockedThread;
using stack::ThreadActivity;

// Since when the process, or the thread, has been there (CLOCK_BOOTTIME); 0 where that is not known.
int64_t StartOf(const base::Thread& thread) {
  stack::ThreadStat stat;
  return stack::ReadThreadStat(thread, &stat) ? stat.start_boot_ns : 0;
}

// Whether a thread that has slept since `since_ns` came there when its process had just been started, and so
// before there was anything to freeze in.
bool IsSinceStart(const base::Thread& thread, int64_t since_ns) {
  constexpr int64_t kStartTakesNs = 2 * base::kNsPerSecond;
  constexpr int64_t kLeastSleepNs = 30 * base::kNsPerSecond;
  const int64_t start_ns = StartOf({thread.process, thread.process.pid()});
  const int64_t boot_ns = base::SystemClock().BootNs();
  const int64_t slept_ns = base::SystemClock().MonoNs() - since_ns;
  return start_ns != 0 && slept_ns > kLeastSleepNs && boot_ns - slept_ns - start_ns < kStartTakesNs;
}

// Whether the call is for a single pipe or connection, as of a client that waits for an answer. Standard
// input comes unasked.
bool IsForOneAnswer(const base::Thread& thread, const BlockedThread& blocked, char state) {
  const int descriptor = watchdog::AwaitedDescriptor(thread, blocked);
  if (descriptor == watchdog::kNoDescriptor || descriptor == STDIN_FILENO) return false;
  switch (watchdog::WhatDescriptorAwaits(thread, descriptor, state)) {
    case Doing::kNetwork:
    case Doing::kPipe:
    case Doing::kService:
    case Doing::kDisplay:
    case Doing::kNameLookup:
    case Doing::kProcess:
      return true;
    default:
      return false;
  }
}

// Whether the thread has slept for another reason than that a page of its memory had to be read.
bool HasSleptByItself(const policies::ThreadUse& first, const policies::ThreadUse& last) {
  const int64_t faults = last.major_faults - first.major_faults;
  // Some pages need two sleeps: one for room, and one for the disk.
  return last.voluntary_switches - first.voluntary_switches > faults + faults / 8;
}

// A core does not say what a single descriptor is.
bool IsOfSeveral(const base::Thread& thread, const watchdog::WaitSet& set) {
  int room[2];
  return watchdog::ReadSet(thread, set, room).size() > 1;
}

// The quotas of groups of threads at one moment. The threads of a process nearly always share theirs.
class GroupThrottles {
 public:
  stack::ThrottleCounters Of(const base::Thread& thread) {
    char buffer[4096];
    const std::string groups(
        base::ReadSmallFile(base::TaskPath(thread, "cgroup").c_str(), buffer, sizeof buffer));
    const auto known = counters_.find(groups);
    if (known != counters_.end()) return known->second;
    return counters_[groups] = stack::ReadThrottleCountersOf(groups);
  }

 private:
  std::map<std::string, stack::ThrottleCounters> counters_;
};

// Lets others run: a kernel that is not preemptible takes the processor from a thread that works only at its
// next tick, up to 10 ms later.
class Pauses {
 public:
  // Sleeps for a moment if the thread has worked for a while since it last did.
  void MaybePause() {
    constexpr int64_t kWorkNs = 500'000;
    const timespec moment{.tv_sec = 0, .tv_nsec = 20'000};
    if (base::SystemClock().MonoNs() - begin_ns_ < kWorkNs) return;
    nanosleep(&moment, nullptr);
    begin_ns_ = base::SystemClock().MonoNs();
  }

 private:
  int64_t begin_ns_ = base::SystemClock().MonoNs();
};

// One moment has no shares of time. Its words are those that a call and memory prove: what descriptors and
// files were is not in a core.
policies::Verdict VerdictOfMoment(Pastime pastime, policies::VerdictWord word) {
  using policies::VerdictWord;
  policies::Verdict verdict;
  const bool is_proven =
      word != VerdictWord::kNetwork && word != VerdictWord::kDisk && word != VerdictWord::kStarved;
  verdict.word = pastime == Pastime::kComputing ? VerdictWord::kCpu
                 : is_proven                    ? word
                                                : VerdictWord::kUnknown;
  return verdict;
}

// The file that the call names: by its descriptor, as the kernel has it, else by the path in its arguments.
std::string FileOf(const base::Thread& thread, const BlockedThread& blocked) {
  char room[256];
  switch (blocked.call().file) {
    case base::FileArgument::kDescriptor: {
      const std::string_view link =
          watchdog::LinkOfDescriptor(thread, static_cast<int>(blocked.arguments[0]), room);
      return link.starts_with('/') ? std::string(link) : "";
    }
    case base::FileArgument::kPath:
    case base::FileArgument::kPathAt: {
      const size_t argument = blocked.call().file == base::FileArgument::kPath ? 0 : 1;
      const size_t bytes = thread.process.Read(blocked.arguments[argument], room, sizeof room);
      const std::string_view text(room, bytes);
      return std::string(text.substr(0, text.find('\0')));
    }
    case base::FileArgument::kNoFile:
      break;
  }
  return "";
}

}  // namespace

bool ThreadSurvey::Look() {
  ++looks_;
  if (looks_ == 1) first_ns_ = base::SystemClock().MonoNs();
  Pauses pauses;
  GroupThrottles throttles;
  base::ForEachThread(capturer_->process(), [&](int tid) {
    const base::Thread thread = capturer_->thread(tid);
    Entry& entry = entries_[tid];
    if (entry.account.look_count() == 0) entry.throttle = throttles.Of(thread);
    if (!StillSleeps(thread, &entry)) LookAt(thread, &entry);
    pauses.MaybePause();
    return true;
  });
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.look != looks_; });
  return !entries_.empty();
}

bool ThreadSurvey::StillSleeps(const base::Thread& thread, Entry* entry) {
  if (!entry->is_asleep || entry->account.look_count() == 0) return false;
  policies::ThreadLook look = entry->account.last_look();
  // Only a thread that runs changes anything else of it.
  if (thread.CpuNs() != look.use.cpu_ns || stack::ReadThreadStateLetter(thread) != entry->state) return false;
  look.mono_ns = base::SystemClock().MonoNs();
  entry->account.Add(look);
  entry->look = looks_;
  if (entry->blocked.FutexCommand() >= 0) ++entry->looks_in_futex;
  return true;
}

void ThreadSurvey::LookAt(const base::Thread& thread, Entry* entry) {
  const bool is_first = entry->account.look_count() == 0;
  policies::ThreadLook look;
  const policies::ThreadLook* before = is_first ? nullptr : &entry->account.last_look();
  if (!watchdog::ThreadTime::LookAt(thread, before, capturer_, nullptr, &look)) return;
  BlockedThread blocked{};
  const ThreadActivity activity = stack::ReadThreadActivity(thread, &blocked);
  const bool is_ready = look.doing == Doing::kRunning || look.doing == Doing::kQueued;
  const bool is_asleep =
      activity == ThreadActivity::kBlocked || (activity == ThreadActivity::kHidden && !is_ready);
  entry->look = looks_;
  entry->state = stack::ReadThreadStateLetter(thread);
  entry->has_been_stopped &= entry->state == 'T' || entry->state == 't';
  const int64_t io_calls = stack::ReadIoCalls(thread);
  if (is_first) {
    char name[16];
    stack::ReadThreadName(thread, name, sizeof name);
    entry->name = name;
    entry->first_use = look.use;
    entry->io_calls = io_calls;
    entry->account.Open(look);
  } else {
    const policies::ThreadUse use = entry->account.Add(look);
    entry->has_moved |= !is_asleep || !entry->is_asleep || use.voluntary_switches != 0 || use.cpu_ns != 0 ||
                        !watchdog::IsSamePlace(blocked, entry->blocked);
  }
  if (is_asleep && blocked.FutexCommand() >= 0) {
    if (!watchdog::IsSamePlace(blocked, std::exchange(entry->futex, blocked))) entry->looks_in_futex = 0;
    ++entry->looks_in_futex;
  }
  entry->has_paused |= HasSleptByItself(entry->first_use, look.use) || io_calls != entry->io_calls;
  entry->is_asleep = is_asleep;
  entry->blocked = blocked;
  // A language knows more of the wait than its call says.
  const bool is_by_language =
      is_asleep && look.doing != watchdog::WhatItWaitsFor(thread, blocked, entry->state);
  entry->has_idled |= is_asleep && !is_by_language && IsIdle(thread, *entry);
}

bool ThreadSurvey::IsIdle(const base::Thread& thread, const Entry& entry) const {
  if (watchdog::IsForOrders(entry.blocked)) return true;
  const auto set = watchdog::SetOf(entry.blocked);
  if (!set) return watchdog::AwaitedDescriptor(thread, entry.blocked) == STDIN_FILENO;
  if (set->is_epoll()) return true;
  // A poll of nothing is a sleep.
  int room[1];
  if (thread.process.is_core()) return IsOfSeveral(thread, *set);
  return !watchdog::ReadSet(thread, *set, room).empty() &&
         !IsForOneAnswer(thread, entry.blocked, entry.state);
}

Pastime ThreadSurvey::PastimeOf(const base::Thread& thread, const Entry& entry) const {
  if (entry.has_been_stopped) return Pastime::kStopped;
  if (entry.has_moved || !entry.is_asleep) {
    if (entry.has_idled) return Pastime::kIdle;
    return entry.has_paused ? Pastime::kBusy : Pastime::kComputing;
  }
  if (SleepsWhereNoneIdles(thread, entry.blocked, /*is_first_sleep=*/true)) return Pastime::kBlocked;
  return entry.has_idled ? Pastime::kIdle : Pastime::kParked;
}

SurveyedThread ThreadSurvey::Judge(int32_t tid, const Entry& entry, int64_t throttled_ns,
                                   stack::ProcessorClocks* clocks) const {
  const base::Thread thread = capturer_->thread(tid);
  SurveyedThread judged;
  judged.tid = tid;
  judged.name = entry.name;
  judged.pastime = PastimeOf(thread, entry);
  judged.blocked = entry.blocked;
  judged.since_ns = first_ns_;
  if (entry.is_asleep) judged.call = entry.blocked.call().name;
  if (judged.pastime == Pastime::kBlocked) judged.file = FileOf(thread, entry.blocked);
  judged.verdict.shares = entry.account.Shares(throttled_ns);
  judged.verdict.use = entry.account.use();
  judged.verdict.word = policies::Judge(judged.verdict.shares, /*is_deadlock=*/false);
  constexpr int64_t kHardly = 20;  // of its time a part of so many at most
  judged.retries_one_wait = judged.pastime == Pastime::kBusy &&
                            entry.looks_in_futex * 4 > entry.account.look_count() * 3 &&
                            judged.verdict.use.cpu_ns * kHardly < judged.verdict.shares.wall_ns;
  if (thread.process.is_core()) {
    judged.verdict = VerdictOfMoment(judged.pastime, judged.verdict.word);
  } else if (entry.is_asleep && !entry.has_moved) {
    const int64_t asleep_since_ns = base::SystemClock().MonoNs() - clocks->AsleepNs(thread).value_or(0);
    judged.is_since_exact = asleep_since_ns < first_ns_;
    judged.since_ns = std::min(asleep_since_ns, first_ns_);
    // One that waits for an answer may have asked at once.
    judged.is_parked_since_start = entry.blocked.FutexCommand() >= 0 && IsSinceStart(thread, judged.since_ns);
  }
  return judged;
}

std::vector<SurveyedThread> ThreadSurvey::Result() const {
  std::vector<SurveyedThread> threads;
  Pauses pauses;
  GroupThrottles throttles;
  stack::ProcessorClocks clocks;
  for (const auto& [tid, entry] : entries_) {
    if (entry.account.look_count() < 2) continue;
    const stack::ThrottleCounters throttle = throttles.Of(capturer_->thread(tid));
    threads.push_back(Judge(tid, entry, throttle.throttled_ns - entry.throttle.throttled_ns, &clocks));
    pauses.MaybePause();
  }
  return threads;
}

}  // namespace lagwatch::sdk
