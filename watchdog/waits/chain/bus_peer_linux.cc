// SPDX-License-Identifier: Apache-2.0
#include "watchdog/waits/chain/wait_walker.h"
#include "watchdog/waits/peers/bus_calls.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {

// Of a process that has the calls that it sent on record, as this one does.
bool WaitWalker::FindBusPeer(const base::Thread& from, const Rest& rest, const Walked& walked,
                             const Wait& wait, PeerTarget* target) {
  const bool is_watched = walked.IsWatched(from);
  if (wait.frames == nullptr || !walked.watched.is_own() || !KnowsModules(from.process, walked)) return false;
  const stack::ModuleMap& modules = CapturerOf(from.process, walked).modules();
  if (!is_watched) {
    const auto held = walked.capturer->code().Hold();
    if (!peers_->bus_calls.CopyFrom(from.process, FindBusCalls(walked.capturer->modules(), modules)))
      return false;
  }
  BusCall call;
  const bool is_found = FindBusTarget({.thread = from,
                                       .blocked = rest.blocked,
                                       .stack = *wait.frames,
                                       .modules = modules,
                                       .calls = is_watched ? ProcessBusCalls() : peers_->bus_calls,
                                       .since_ns = is_watched ? walked.since_ns : 0},
                                      target, &call);
  if (is_found && is_watched) bus_call_ = call;
  return is_found;
}

// Of a thread that sleeps at the bus's socket: in a call of its own it waits for one answer only.
bool WaitWalker::IsIdleAtBus(const base::Thread& owner, const Walked& walked, const Wait& wait) const {
  stack::BlockedThread blocked;
  return wait.owner_frames == nullptr || !KnowsModules(owner.process, walked) ||
         stack::ReadThreadActivity(owner, &blocked) != stack::ThreadActivity::kBlocked ||
         !IsInBusCall(blocked, *wait.owner_frames, CapturerOf(owner.process, walked).modules());
}

}  // namespace lagwatch::watchdog
