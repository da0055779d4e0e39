// SPDX-License-Identifier: Apache-2.0
// Waits for several pipes of one child together, as for its output and its errors.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/process_search.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kMostDescriptors = 8;
constexpr size_t kMostChildren = 32;

// The other ends of what is polled, as far as they are of pipes and of pairs of sockets.
struct OtherEnds {
  PeerTarget targets[kMostDescriptors];
  size_t count = 0;

  std::span<const PeerTarget> all() const { return {targets, count}; }
};

bool OnlyWakes(std::string_view link) {
  return link == "anon_inode:[eventfd]" || link == "anon_inode:[timerfd]" ||
         link == "anon_inode:[signalfd]" || link == "anon_inode:inotify";
}

// False if the descriptor is of another kind.
bool AddEnd(const base::Thread& thread, int descriptor, int64_t deadline_ns, OtherEnds* ends) {
  PeerTarget target;
  char room[64];
  const std::string_view link = LinkOfDescriptor(thread, descriptor, room);
  if (OnlyWakes(link)) return true;
  if (link.starts_with("pipe:[")) {
    target.kind = policies::LockKind::kPipe;
    target.number = InodeOfDescriptor(thread, descriptor, "pipe");
    target.access = AccessOfOtherEnd(thread, descriptor);
    link.copy(target.link, sizeof target.link - 1);
    // A signal's handler or another thread writes to it.
    if (HasEnd(thread.process.proc_id(), target, deadline_ns)) return true;
  } else if (const uint64_t inode = InodeOfDescriptor(thread, descriptor, "socket"); inode != 0) {
    const SocketPeer peer = AskAboutSocket(thread, inode);
    if (peer.doing != policies::Doing::kPipe || peer.inode == 0) return false;
    target.kind = policies::LockKind::kUnixSocket;
    target.number = inode;
    std::snprintf(target.link, sizeof target.link, "socket:[%u]", peer.inode);
  } else {
    return false;
  }
  ends->targets[ends->count++] = target;
  return true;
}

}  // namespace

bool FindCommonChild(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t deadline_ns,
                     PeerTarget* target) {
  const std::optional<WaitSet> set = SetOf(blocked);
  if (!set || set->is_cut()) return false;
  int room[kMostDescriptors + 1];
  const std::span<const int> descriptors = ReadSet(thread, *set, room);
  OtherEnds ends;
  const bool is_known =
      descriptors.size() <= kMostDescriptors && std::ranges::all_of(descriptors, [&](int descriptor) {
        return AddEnd(thread, descriptor, deadline_ns, &ends);
      });
  if (!is_known || ends.count == 0) return false;
  int32_t children[kMostChildren];
  int32_t found = 0;
  int count = 0;
  for (const int32_t child : ListChildren(thread.process, children)) {
    const bool has_all = std::ranges::all_of(
        ends.all(), [&](const PeerTarget& end) { return HasEnd(child, end, deadline_ns); });
    if (!has_all) continue;
    found = child;
    ++count;
  }
  if (count != 1) return false;
  const bool has_timeout = target->has_timeout;
  *target = ends.targets[0];
  target->pid = found;
  target->has_timeout = has_timeout;
  return true;
}

}  // namespace lagwatch::watchdog
