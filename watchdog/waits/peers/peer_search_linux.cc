// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/process_search.h"
#include "watchdog/waits/sleeping_call.h"

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

bool HasInfo(const char* folder, int descriptor, const char* info) {
  char path[64];
  std::snprintf(path, sizeof path, "%.*sinfo/%d", 32, folder, descriptor);
  char buffer[1024];
  return base::ReadSmallFile(path, buffer, sizeof buffer).find(info) != std::string_view::npos;
}

bool IsLinkOf(const PeerTarget& target, std::string_view link) {
  return target.is_link_end ? link.ends_with(target.link) : link == target.link;
}

Ends EndsIn(int32_t pid, const PeerTarget& target, int64_t deadline_ns) {
  Ends ends;
  char folder[32];
  std::snprintf(folder, sizeof folder, "/proc/%d/fd", pid);
  base::ForEachNumberIn(folder, [&](int descriptor) {
    char path[48];
    char found[sizeof target.link];
    std::snprintf(path, sizeof path, "%s/%d", folder, descriptor);
    const ssize_t size = readlink(path, found, sizeof found);
    if (size <= 0 || !IsLinkOf(target, {found, static_cast<size_t>(size)})) return !IsLate(deadline_ns);
    struct stat file {};
    const bool is_end =
        target.access == 0 || (lstat(path, &file) == 0 && (file.st_mode & target.access) != 0);
    if (is_end && (target.info[0] == '\0' || HasInfo(folder, descriptor, target.info)))
      ends.descriptors[ends.count++] = descriptor;
    return ends.count < ends.descriptors.size() && !IsLate(deadline_ns);
  });
  return ends;
}

// Whether a set of the thread's has one of `ends`.
bool SetHas(const base::Thread& thread, const WaitSet& set, const Ends& ends) {
  int room[FD_SETSIZE];
  return std::ranges::any_of(ReadSet(thread, set, room), [&](int one) { return ends.Has(one); });
}

using base::DescriptorUse;

// The use that a blocked thread makes of one of `ends`.
DescriptorUse UseOf(const base::Thread& thread, const stack::BlockedThread& blocked, const Ends& ends) {
  if (const auto set = SetOf(blocked))
    return SetHas(thread, set->ForReading(), ends) ? DescriptorUse::kReads : DescriptorUse::kNoUse;
  const DescriptorUse use = blocked.call().use;
  const bool is_on_end = ends.Has(static_cast<int>(blocked.arguments[0]));
  return is_on_end && use != DescriptorUse::kConnects ? use : DescriptorUse::kNoUse;
}

bool IsInSomeEpoll(const base::Process& process, const Ends& ends, int64_t deadline_ns) {
  bool is_found = false;
  base::ForEachNumberIn(base::ProcessPath(process, "fd").c_str(), [&](int descriptor) {
    char leaf[24];
    char link[32];
    std::snprintf(leaf, sizeof leaf, "fd/%d", descriptor);
    const ssize_t size = readlink(base::ProcessPath(process, leaf).c_str(), link, sizeof link);
    is_found = size > 0 && std::string_view(link, static_cast<size_t>(size)) == "anon_inode:[eventpoll]" &&
               SetHas({process, process.pid()}, WaitSet::Epoll(descriptor), ends);
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

// Of a thread of a file system's server: by read(2) or by splice(2).
bool AwaitsFileRequest(const base::Thread& thread) {
  char channel[64];
  stack::ReadWaitChannel(thread, channel, sizeof channel);
  return std::string_view(channel).find("fuse_dev") != std::string_view::npos;
}

// Of a process without a thread in a call on its ends, it is the only thread that runs, else the main thread.
// Threads of a file system that read the next request are not those that work at this one: then it is the
// only other one, besides the main thread.
Rank RankOf(const base::Process& process, const Ends& ends, bool is_file_system, int32_t waiting_pid,
            int64_t deadline_ns, PeerThread* found) {
  *found = {.thread = {process, process.pid()}};
  Rank rank = Rank::kNone;
  int running_count = 0;
  int32_t running_tid = 0;
  int worker_count = 0;
  int32_t worker_tid = 0;
  base::ForEachThread(process, [&](int tid) {
    const base::Thread thread{process, tid};
    stack::BlockedThread blocked;
    const stack::ThreadActivity activity = stack::ReadThreadActivity(thread, &blocked);
    if (activity == stack::ThreadActivity::kRunning && !IsLagwatchsThread(thread)) {
      ++running_count;
      running_tid = tid;
    }
    if (is_file_system) {
      if (tid != process.pid() && !AwaitsFileRequest(thread) && !IsLagwatchsThread(thread)) {
        ++worker_count;
        worker_tid = tid;
      }
    } else if (activity == stack::ThreadActivity::kBlocked) {
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
  if (worker_count == 1) found->thread.tid = worker_tid;
  if (IsInSomeEpoll(process, ends, deadline_ns)) return Rank::kEpoll;
  return IsAncestor(process.pid(), waiting_pid) ? Rank::kAncestor : Rank::kHolder;
}

}  // namespace

std::span<int> FindEndsIn(const base::Process& process, const PeerTarget& target, int64_t deadline_ns,
                          std::span<int> room) {
  const Ends ends = EndsIn(process.proc_id(), target, deadline_ns);
  const size_t count = std::min(ends.count, room.size());
  std::copy_n(ends.descriptors.begin(), count, room.begin());
  return room.first(count);
}

bool HasEnd(int32_t pid, const PeerTarget& target, int64_t deadline_ns) {
  return EndsIn(pid, target, deadline_ns).count != 0;
}

int32_t FindProcessWith(const base::Process& process, const PeerTarget& target, int64_t budget_ns) {
  const int64_t deadline_ns = SearchClockNs() + budget_ns;
  const auto has_end = [&](int pid) { return EndsIn(pid, target, deadline_ns).count != 0; };
  // The main thread's, even after that has ended.
  const int32_t own_pid = process.proc_id();
  if (has_end(own_pid)) return 0;
  int32_t found = 0;
  base::ForEachNumberIn("/proc", [&](int pid) {
    if (pid != own_pid && has_end(pid)) found = pid;
    return found == 0 && !IsLate(deadline_ns);
  });
  return found;
}

bool FindPeerThread(const PeerTarget& target, const base::Process& waiting, const base::Process& watched,
                    int64_t deadline_ns, PeerThread* found) {
  const auto process_of = [&](int32_t pid) {
    return pid == watched.pid() ? watched : base::Process::Other(pid);
  };
  if (target.pid != 0) {
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
    const Rank rank = RankOf(process_of(pid), ends, target.kind == policies::LockKind::kFileSystem,
                             waiting.pid(), deadline_ns, &candidate);
    if (rank > best) {
      best = rank;
      *found = candidate;
    }
    return best != Rank::kInCall && !IsLate(deadline_ns);
  });
  return best != Rank::kNone;
}

}  // namespace lagwatch::watchdog
