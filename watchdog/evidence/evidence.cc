// SPDX-License-Identifier: Apache-2.0
#include "watchdog/evidence/evidence.h"

#include "base/clock.h"
#include "base/one_moment.h"
#include "stack/threads/thread_counters.h"

namespace lagwatch::watchdog {

using policies::Doing;

Doing WhatHiddenWaitsFor(std::string_view channel, char state) {
  struct Rule {
    std::string_view part;
    Doing doing;
  };
  // The first that fits.
  static constexpr Rule kRules[] = {

      {"futex", Doing::kLock},
      {"flock", Doing::kLock},
      {"locks_lock", Doing::kLock},
      {"setlk", Doing::kLock},
      {"posix_lock", Doing::kLock},
      {"semtimedop", Doing::kLock},
      {"nanosleep", Doing::kSleep},
      {"sys_pause", Doing::kSleep},
      {"sigtimedwait", Doing::kSleep},
      {"sigsuspend", Doing::kSleep},
      {"pipe_", Doing::kPipe},
      {"poll", Doing::kNetwork},
      {"select", Doing::kNetwork},
      {"epoll", Doing::kNetwork},
      {"sock", Doing::kNetwork},
      {"unix_", Doing::kService},
      {"inet_", Doing::kNetwork},
      {"tcp_", Doing::kNetwork},
      {"skb", Doing::kNetwork},
      {"wait_woken", Doing::kNetwork},
      {"tty_", Doing::kTerminal},
      {"eventfd", Doing::kLock},
      {"signalfd", Doing::kSleep},
      {"msgrcv", Doing::kPipe},
      {"msgsnd", Doing::kPipe},
      {"wq_sleep", Doing::kPipe},  // a queue of POSIX
      {"fuse", Doing::kDisk},
      {"request_wait", Doing::kDisk},
      {"rpc_", Doing::kDisk},
      {"nfs", Doing::kDisk},
      {"userfault", Doing::kMemory},
      {"reclaim", Doing::kMemory},
      {"balance_dirty", Doing::kDisk},
      {"do_wait", Doing::kProcess},
      {"wait_for_vfork", Doing::kProcess},
      {"wait_for_partner", Doing::kPipe},
      {"fifo_open", Doing::kPipe},
      {"mem_cgroup", Doing::kMemory},
  };
  for (const Rule& rule : kRules) {
    if (channel.find(rule.part) != std::string_view::npos) return rule.doing;
  }
  return state == 'D' ? Doing::kDisk : Doing::kUnknown;
}

bool HasRunThroughout(const base::Thread& thread, const policies::ThreadLook& before,
                      policies::ThreadLook* look) {
  if (before.doing != Doing::kRunning) return false;
  const int64_t cpu_ns = thread.CpuNs();
  // Last: time that is lost in between makes the thread no busier.
  const int64_t now_ns = base::SystemClock().MonoNs();
  const int64_t wall_ns = now_ns - before.mono_ns;
  const int64_t slack_ns = wall_ns / 50 + 20'000;  // for what a wake-up of the reader takes
  if (cpu_ns - before.use.cpu_ns < wall_ns - slack_ns) return false;
  *look = before;
  look->mono_ns = now_ns;
  look->use.cpu_ns = cpu_ns;
  return true;
}

namespace {

// Reads all but the moment and `doing`.
bool ReadCounters(const base::Thread& thread, const policies::ThreadLook* before,
                  const stack::ThreadFiles* files, stack::ThreadStat* stat, policies::ThreadLook* look) {
  look->use.cpu_ns = thread.CpuNs();
  if (look->use.cpu_ns < 0 || !stack::ReadThreadStat(thread, stat, files)) return false;
  look->user_ns = stat->user_ns;
  look->kernel_ns = stat->kernel_ns;
  look->block_io_ns = stat->block_io_ns;
  look->use.minor_faults = stat->minor_faults;
  look->use.major_faults = stat->major_faults;
  if (before != nullptr && before->use.cpu_ns == look->use.cpu_ns) {  // it has not run since
    look->run_queue_ns = before->run_queue_ns;
    look->use.voluntary_switches = before->use.voluntary_switches;
    look->use.involuntary_switches = before->use.involuntary_switches;
  } else {
    stack::SchedulerCounters scheduler;
    stack::ReadSchedulerCounters(thread, &scheduler, files);  // an unknown value counts as 0
    look->run_queue_ns = scheduler.run_queue_ns;
    look->use.voluntary_switches = scheduler.voluntary_switches;
    look->use.involuntary_switches = scheduler.involuntary_switches;
  }
  return true;
}

}  // namespace

bool LookAtThread(const base::Thread& thread, const policies::ThreadLook* before, policies::ThreadLook* look,
                  const stack::ThreadFiles* files) {
  *look = {};
  stack::ThreadStat stat;
  bool is_there = false;
  const base::Bracket bracket = base::ReadAtOneMoment(
      base::SystemClock(), [&] { is_there = ReadCounters(thread, before, files, &stat, look); });
  look->mono_ns = bracket.begin_ns;
  if (!is_there) return false;
  switch (stat.state) {
    case 'R':
      // Only on a processor its time goes on.
      look->doing = thread.CpuNs() == look->use.cpu_ns ? Doing::kQueued : Doing::kRunning;
      break;
    case 'S':
    case 'D': {
      stack::BlockedThread blocked{};
      switch (stack::ReadThreadActivity(thread, files, &blocked)) {
        case stack::ThreadActivity::kGone:
          return false;
        case stack::ThreadActivity::kRunning:  // it was asleep only for a moment
          look->doing = Doing::kRunning;
          break;
        case stack::ThreadActivity::kBlocked:
          look->doing = WhatItWaitsFor(thread, blocked, stat.state);
          break;
        case stack::ThreadActivity::kHidden: {
          char channel[64];
          stack::ReadWaitChannel(thread, channel, sizeof channel);
          look->doing = WhatHiddenWaitsFor(channel, stat.state);
          break;
        }
      }
      break;
    }
    case 'T':
    case 't':
      look->doing = Doing::kStopped;
      break;
    default:
      break;
  }
  return true;
}

}  // namespace lagwatch::watchdog
