// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "watchdog/evidence/process_search.h"
#include "watchdog/peers/peer_target.h"

namespace lagwatch::watchdog {
namespace {

bool IsLate(int64_t deadline_ns) { return SearchClockNs() >= deadline_ns; }

// The better ones are larger.
enum class Rank : uint8_t { kNone, kAncestor, kHolder, kEpoll, kInCall };

// Descriptors of one process that are the other end.
struct Ends {
  std::array<int, 8> descriptors{};
  size_t count = 0;

  std::span<const int> all() const { return {descriptors.data(), count}; }
  bool Has(int descriptor) const { return std::ranges::find(all(), descriptor) != all().end(); }
};

bool HasFileLock(const char* folder, int descriptor) {
  char path[64];
  std::snprintf(path, sizeof path, "%.*sinfo/%d", 32, folder, descriptor);
  char buffer[1024];
  return base::ReadSmallFile(path, buffer, sizeof buffer).find("lock:\t") != std::string_view::npos;
}

Ends EndsIn(int32_t pid, const PeerTarget& target, int64_t deadline_ns) {
  Ends ends;
  char folder[32];
  std::snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
  const std::string_view link = target.link;
  base::ForEachNumberIn(folder, [&](int descriptor) {
    char path[48];
    char found[sizeof target.link];
    std::snprintf(path, sizeof path, "%s/%d", folder, descriptor);
    const ssize_t size = readlink(path, found, sizeof found);
    if (size <= 0 || std::string_view(found, static_cast<size_t>(size)) != link) return !IsLate(deadline_ns);
    struct stat file {};
    const bool is_end =
        target.access == 0 || (lstat(path, &file) == 0 && (file.st_mode & target.access) != 0);
    if (is_end && (!target.is_lock_of_open_file || HasFileLock(folder, descriptor)))
      ends.descriptors[ends.count++] = descriptor;
    return ends.count < ends.descriptors.size() && !IsLate(deadline_ns);
  });
  return ends;
}

// Whether an epoll of the thread's has one of `ends` in its set.
bool EpollHas(const base::Thread& thread, int epoll, const Ends& ends) {
  char leaf[24];
  std::snprintf(leaf, sizeof leaf, "fdinfo/%d", epoll);
  char buffer[8192];
  std::string_view text = base::ReadSmallFile(base::TaskPath(thread, leaf).c_str(), buffer, sizeof buffer);
  constexpr std::string_view kTarget = "tfd:";
  for (size_t at = text.find(kTarget); at != std::string_view::npos; at = text.find(kTarget)) {
    text.remove_prefix(at + kTarget.size());
    uint64_t descriptor = 0;
    if (base::ConsumeDecimal(&text, &descriptor) && ends.Has(static_cast<int>(descriptor))) return true;
  }
  return false;
}

bool PollHas(const base::Process& process, uint64_t address, uint64_t count, const Ends& ends) {
  pollfd copies[64];
  const size_t wanted = std::min<uint64_t>(count, std::size(copies)) * sizeof copies[0];
  const size_t read = process.Read(address, copies, wanted) / sizeof copies[0];
  return std::any_of(copies, copies + read,
                     [&](const pollfd& one) { return one.fd >= 0 && ends.Has(one.fd); });
}

bool SelectHas(const base::Process& process, int limit, uint64_t set, const Ends& ends) {
  fd_set copy;
  FD_ZERO(&copy);
  const size_t bytes = static_cast<size_t>(std::clamp(limit, 0, FD_SETSIZE) + 63) / 64 * 8;
  if (set == 0 || process.Read(set, &copy, bytes) != bytes) return false;
  return std::ranges::any_of(ends.all(), [&](int one) { return one < FD_SETSIZE && FD_ISSET(one, &copy); });
}

using base::DescriptorUse;

// The use that a blocked thread makes of one of `ends`.
DescriptorUse UseOf(const base::Thread& thread, const stack::BlockedThread& blocked, const Ends& ends) {
  const uint64_t* arguments = blocked.arguments;
  const base::SystemCall& call = blocked.call();
  const auto first = static_cast<int>(arguments[0]);
  bool is_polled = false;
  switch (call.set) {
    case base::DescriptorSet::kPoll:
      is_polled = PollHas(thread.process, arguments[0], arguments[1], ends);
      break;
    case base::DescriptorSet::kSelect:
      is_polled = SelectHas(thread.process, first, arguments[1], ends);
      break;
    case base::DescriptorSet::kEpoll:
      is_polled = EpollHas(thread, first, ends);
      break;
    case base::DescriptorSet::kNoSet:
      if (call.use == DescriptorUse::kConnects || !ends.Has(first)) return DescriptorUse::kNoUse;
      return call.use;
  }
  return is_polled ? DescriptorUse::kReads : DescriptorUse::kNoUse;
}

bool IsInSomeEpoll(const base::Process& process, const Ends& ends, int64_t deadline_ns) {
  bool is_found = false;
  base::ForEachNumberIn(base::ProcessPath(process, "fd").c_str(), [&](int descriptor) {
    char leaf[24];
    char link[32];
    std::snprintf(leaf, sizeof leaf, "fd/%d", descriptor);
    const ssize_t size = readlink(base::ProcessPath(process, leaf).c_str(), link, sizeof link);
    is_found = size > 0 && std::string_view(link, static_cast<size_t>(size)) == "anon_inode:[eventpoll]" &&
               EpollHas({process, process.pid()}, descriptor, ends);
    return !is_found && !IsLate(deadline_ns);
  });
  return is_found;
}

bool IsAncestor(int32_t pid, int32_t of) {
  constexpr int kMostGenerations = 32;
  for (int i = 0; i < kMostGenerations && of > 1; ++i) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/status", of);
    char buffer[1024];
    of = static_cast<int32_t>(
        base::NumberInLine(base::ReadSmallFile(path, buffer, sizeof buffer), "PPid:").value_or(0));
    if (of == pid) return true;
  }
  return false;
}

bool IsLagwatchs(const base::Thread& thread) {
  char name[16];
  stack::ReadThreadName(thread, name, sizeof name);
  return std::string_view(name).starts_with("lagwatch");
}

// Of a process without a thread in a call on its ends, it is the only thread that runs, else the main thread.
Rank RankOf(const base::Process& process, const Ends& ends, int32_t waiting_pid, int64_t deadline_ns,
            PeerThread* found) {
  *found = {.thread = {process, process.pid()}};
  Rank rank = Rank::kNone;
  int running_count = 0;
  int32_t running_tid = 0;
  base::ForEachThread(process, [&](int tid) {
    const base::Thread thread{process, tid};
    stack::BlockedThread blocked;
    const stack::ThreadActivity activity = stack::ReadThreadActivity(thread, &blocked);
    if (activity == stack::ThreadActivity::kRunning && !IsLagwatchs(thread)) {
      ++running_count;
      running_tid = tid;
    }
    if (activity == stack::ThreadActivity::kBlocked) {
      const DescriptorUse use = UseOf(thread, blocked, ends);
      if (use != DescriptorUse::kNoUse) {
        rank = Rank::kInCall;
        *found = {.thread = thread, .is_idle = use != DescriptorUse::kWrites, .is_known = true};
      }
    }
    return rank == Rank::kNone && !IsLate(deadline_ns);
  });
  if (rank != Rank::kNone) return rank;
  if (running_count == 1) found->thread.tid = running_tid;
  if (IsInSomeEpoll(process, ends, deadline_ns)) return Rank::kEpoll;
  return IsAncestor(process.pid(), waiting_pid) ? Rank::kAncestor : Rank::kHolder;
}

}  // namespace

bool HasOtherActiveThread(const base::Thread& thread) {
  bool is_active = false;
  base::ForEachThread(thread.process, [&](int tid) {
    const base::Thread other{thread.process, tid};
    if (other == thread || IsLagwatchs(other)) return true;
    stack::BlockedThread blocked;
    is_active = stack::ReadThreadActivity(other, &blocked) != stack::ThreadActivity::kBlocked ||
                blocked.HasTimeLimit();
    return !is_active;
  });
  return is_active;
}

bool FindPeerThread(const PeerTarget& target, const base::Process& waiting, const base::Process& watched,
                    int64_t deadline_ns, PeerThread* found) {
  const auto process_of = [&](int32_t pid) {
    return pid == watched.pid() ? watched : base::Process::Other(pid);
  };
  if (target.pid != 0 && !target.is_lock_of_open_file) {
    *found = {.thread = {process_of(target.pid), target.tid != 0 ? target.tid : target.pid},
              .is_known = target.tid != 0};
    if (target.kind == policies::LockKind::kBusCall) found->is_idle = IsAtBus(found->thread, target.link);
    return true;
  }
  Rank best = Rank::kNone;
  const int32_t own_pid = getpid();
  base::ForEachNumberIn("/proc", [&](int pid) {
    if (pid == waiting.pid() || (!watched.is_own() && pid == own_pid)) return !IsLate(deadline_ns);
    const Ends ends = EndsIn(pid, target, deadline_ns);
    if (ends.count == 0) return !IsLate(deadline_ns);
    PeerThread candidate;
    const Rank rank = RankOf(process_of(pid), ends, waiting.pid(), deadline_ns, &candidate);
    if (rank > best) {
      best = rank;
      *found = candidate;
    }
    return best != Rank::kInCall && !IsLate(deadline_ns);
  });
  return best != Rank::kNone;
}

}  // namespace lagwatch::watchdog
