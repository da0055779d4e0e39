// SPDX-License-Identifier: Apache-2.0
// Finds out which other process a blocked thread waits for, and which of its threads should answer. Only
// /proc, the memory of processes and sock_diag(7) are read: docs/design/peers.md. Context: watchdog.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/process/process.h"
#include "policies/hang.h"
#include "stack/code/module_map.h"
#include "stack/frames/stack.h"
#include "stack/script_stacks.h"
#include "stack/threads/thread_state.h"
#include "watchdog/mounts/mounts.h"
#include "watchdog/waits/peers/bus_calls.h"

namespace lagwatch::watchdog {

// The object of a wait across a process's border.
struct PeerTarget {
  policies::LockKind kind = policies::LockKind::kUnknown;
  uint64_t number = 0;       // of the inode, the child's process id, or the address of a mutex
  int32_t pid = 0;           // 0: a process that has `link` open
  int32_t tid = 0;           // of a mutex's owner; else 0
  mode_t access = 0;         // with which the other end is open; 0: any
  bool has_timeout = false;  // of the wait
  bool is_link_end = false;  // `link` is only how the link ends
  char link[256] = {};       // as in /proc/PID/fd; of a call over D-Bus: the address of the bus
  char info[48] = {};        // that the other end's fdinfo has: of a lock of an open file, for example
};

// A thread that may wait for the answer to a call over D-Bus. All is borrowed.
struct BusSleeper {
  const base::Thread& thread;
  const stack::BlockedThread& blocked;
  const stack::Stack& stack;
  const stack::ModuleMap& modules;
  const BusCalls& calls;  // of its process
  int64_t since_ns = 0;   // the call was sent at that time or later; 0: only its stack says that it waits
};
// If it does. Asks the bus, for a few milliseconds, which process is called.
bool FindBusTarget(const BusSleeper& sleeper, PeerTarget* target, BusCall* call);

// Whether a thread that sleeps at `blocked` is in a library's function that returns with the answer to a call
// over D-Bus, and handles no other message before.
bool IsInBusCall(const stack::BlockedThread& blocked, const stack::Stack& stack,
                 const stack::ModuleMap& modules);

// Whether the thread sleeps at the socket of the bus with that address.
bool IsAtBus(const base::Thread& thread, std::string_view address);

// Of `thread`, which sleeps at `blocked`. False where it waits for no other process, or for one that was not
// found before `deadline_ns` (SearchClockNs).
bool FindPeerTarget(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t deadline_ns,
                    PeerTarget* target);

// The only child that has the other ends of all pipes and pairs of sockets which `thread` polls at `blocked`,
// besides what only wakes it up. False if it polls anything else. Keeps `target`'s has_timeout.
bool FindCommonChild(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t deadline_ns,
                     PeerTarget* target);

// The process that `thread` waits for by its run time's data. False if there is none.
bool SetScriptPeer(const base::Thread& thread, const stack::ScriptPeer& peer, int64_t deadline_ns,
                   PeerTarget* target);

// The other end of the TCP connection of socket `inode`, which `thread` has open as `descriptor`, if it is in
// this machine: the inode of the socket there, or of the listening one as long as nothing has accepted the
// connection. 0: none.
uint64_t FindConnectionEnd(const base::Thread& thread, int descriptor, uint64_t inode, int64_t deadline_ns);

// The file system of the file that the call names of `thread`, which sleeps at `blocked` in the kernel's
// function `channel`. False if it names none, or if that is not certain (FindMountByPath).
bool FindMountOfCall(const base::Thread& thread, const stack::BlockedThread& blocked,
                     std::string_view channel, Mount* mount);

// The file system in user space that `thread`, which sleeps at `blocked`, waits for. Its mount point is
// written to `mount_point`. False where it waits for none, or for one whose process the kernel does not know.
bool FindFileServer(const base::Thread& thread, const stack::BlockedThread& blocked, PeerTarget* target,
                    std::span<char> mount_point);

// Another process than `process` that has the other end, of those that this one may look at. 0: none was
// found within `budget_ns` (SearchClockNs), or `process` itself has it.
int32_t FindProcessWith(const base::Process& process, const PeerTarget& target, int64_t budget_ns);

// Descriptors of `process` that are the other end, as many as fit.
std::span<int> FindEndsIn(const base::Process& process, const PeerTarget& target, int64_t deadline_ns,
                          std::span<int> room);

// Whether process `pid` has the other end.
bool HasEnd(int32_t pid, const PeerTarget& target, int64_t deadline_ns);

struct PeerThread {
  base::Thread thread;
  bool is_idle = false;  // it waits at the other end
  bool is_known =
      false;  // by its use of the other end; else it is the only one that runs, or the main thread
};

// The thread that should answer process `waiting`. Of several processes that have the other end: one with
// a thread in a call on it, else one whose epoll has it in its set, else one that is no ancestor. False when
// there is none. `watched` is the process that the chain begins in.
bool FindPeerThread(const PeerTarget& target, const base::Process& waiting, const base::Process& watched,
                    int64_t deadline_ns, PeerThread* found);

}  // namespace lagwatch::watchdog
