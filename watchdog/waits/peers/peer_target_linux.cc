// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "base/system/system_calls.h"
#include "watchdog/waits/file_locks.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/peers/shared_memory.h"
#include "watchdog/waits/process_search.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/unix_sockets.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {

namespace {

using policies::Doing;
using policies::LockKind;

int64_t Left(int64_t deadline_ns) { return deadline_ns - SearchClockNs(); }

void SetLinkOf(const base::Thread& thread, int descriptor, PeerTarget* target) {
  const auto link =
      LinkOfDescriptor(thread, descriptor, std::span(target->link).first<sizeof target->link - 1>());
  target->link[link.size()] = '\0';
}

bool SetChild(const base::Thread& thread, int32_t pid, int64_t deadline_ns, PeerTarget* target) {
  if (pid <= 0 && FindChildren(thread, Left(deadline_ns), &pid) != 1)
    return false;  // any of several would do
  target->kind = LockKind::kChild;
  target->number = static_cast<uint64_t>(std::max(pid, 0));
  target->pid = pid;
  return pid > 0;
}

bool SetFileLock(const base::Thread& thread, int descriptor, PeerTarget* target) {
  const FileLock lock = ReadAwaitedLock(thread, descriptor);
  if (lock.kind[0] == '\0') return false;
  target->kind = LockKind::kFileLock;
  target->number = NumberInFdInfo(thread, descriptor, "ino:").value_or(0);
  target->pid = lock.holder_pid;
  if (target->pid == 0) std::snprintf(target->info, sizeof target->info, "lock:\t");
  SetLinkOf(thread, descriptor, target);
  return target->pid != 0 || target->link[0] == '/';
}

void SetLink(const char* kind, uint64_t inode, PeerTarget* target) {
  std::snprintf(target->link, sizeof target->link, "%s:[%lu]", kind, static_cast<unsigned long>(inode));
}

bool SetSocket(const base::Thread& thread, int descriptor, uint64_t inode, int64_t deadline_ns,
               PeerTarget* target) {
  const SocketPeer peer = AskAboutSocket(thread, inode);
  uint64_t end = peer.inode;
  target->number = inode;
  target->kind = peer.doing == Doing::kDisplay ? LockKind::kDisplay : LockKind::kUnixSocket;
  if (peer.doing == Doing::kNameLookup && end == 0) return false;
  if (peer.doing == Doing::kNetwork) {
    target->kind = LockKind::kConnection;
    end = FindConnectionEnd(thread, descriptor, inode, deadline_ns);
  } else if (end == 0) {
    end = FindListenerOf(static_cast<uint32_t>(inode));
  }
  SetLink("socket", end, target);
  return end != 0;
}

// A terminal's program waits for the one that shows the terminal, and the other way round.
bool SetTerminal(const base::Thread& thread, int descriptor, PeerTarget* target) {
  constexpr std::string_view kTerminals = "/dev/pts/";
  const std::string_view link = target->link;
  uint64_t number = 0;
  if (link.ends_with("/ptmx")) {
    const auto index = NumberInFdInfo(thread, descriptor, "tty-index:");
    if (!index) return false;
    number = *index;
    std::snprintf(target->link, sizeof target->link, "/dev/pts/%lu", static_cast<unsigned long>(number));
  } else {
    if (!link.starts_with(kTerminals)) return false;
    std::string_view digits = link.substr(kTerminals.size());
    if (!base::ConsumeDecimal(&digits, &number) || !digits.empty()) return false;
    std::snprintf(target->info, sizeof target->info, "tty-index:\t%lu\n", static_cast<unsigned long>(number));
    std::snprintf(target->link, sizeof target->link, "/ptmx");
    target->is_link_end = true;
  }
  target->kind = LockKind::kTerminal;
  target->number = number;
  return true;
}

bool SetDescriptor(const base::Thread& thread, int descriptor, bool is_queue, int64_t deadline_ns,
                   PeerTarget* target) {
  if (const uint64_t socket = InodeOfDescriptor(thread, descriptor, "socket"))
    return SetSocket(thread, descriptor, socket, deadline_ns, target);
  if (const auto pid = NumberInFdInfo(thread, descriptor, "Pid:"))
    return SetChild(thread, static_cast<int32_t>(*pid), deadline_ns, target);
  SetLinkOf(thread, descriptor, target);
  if (SetTerminal(thread, descriptor, target)) return true;
  target->number = InodeOfDescriptor(thread, descriptor, "pipe");
  if (target->number == 0 && !is_queue) {
    char channel[64];
    stack::ReadWaitChannel(thread, channel, sizeof channel);
    // The name of a FIFO is that of any file, but reading it does not wait for a disk.
    if (target->link[0] != '/' || std::string_view(channel).find("pipe") == std::string_view::npos)
      return false;
  }
  if (target->number == 0) target->number = NumberInFdInfo(thread, descriptor, "ino:").value_or(0);
  target->kind = is_queue ? LockKind::kQueue : LockKind::kPipe;
  target->access = AccessOfOtherEnd(thread, descriptor);
  return true;
}

// The words of glibc's mutexes: the lock's, a count, the owner's thread.
bool SetSharedMutex(const base::Process& process, const stack::BlockedThread& blocked, PeerTarget* target) {
  const uint64_t* arguments = blocked.arguments;
  if ((arguments[1] & FUTEX_PRIVATE_FLAG) != 0) return false;
  const uint64_t command = arguments[1] & FUTEX_CMD_MASK;
  uint32_t words[3];
  if (!process.ReadValue(arguments[0], &words)) return false;
  const bool inherits = command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
  if (!inherits && command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) return false;
  const uint32_t owner = inherits ? words[0] & FUTEX_TID_MASK : words[2];
  const bool is_mutex = inherits || words[0] == 1 || words[0] == 2 || (words[0] & FUTEX_TID_MASK) == owner;
  if (owner == 0 || !is_mutex) return false;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%u/status", owner);
  char buffer[2048];
  const auto pid = base::NumberInLine(base::ReadSmallFile(path, buffer, sizeof buffer), "Tgid:");
  if (!pid || !MapsFile(static_cast<int32_t>(*pid), SharedFileAt(process, arguments[0]))) return false;
  target->kind = LockKind::kMutex;
  target->number = arguments[0];
  target->pid = static_cast<int32_t>(*pid);
  target->tid = static_cast<int32_t>(owner);
  return true;
}

}  // namespace

bool SetScriptPeer(const base::Thread& thread, const stack::ScriptPeer& peer, int64_t deadline_ns,
                   PeerTarget* target) {
  *target = {};
  if (peer.kind == LockKind::kUnknown) return false;
  if (peer.kind == LockKind::kChild) {
    const bool is_own = thread.process.is_own() && peer.pid > 0;
    return SetChild(thread, is_own ? base::ProcIdOfChild(peer.pid) : peer.pid, deadline_ns, target);
  }
  target->kind = peer.kind;
  target->number = peer.address;
  target->pid = target->tid = peer.pid;
  return peer.pid > 0;
}

bool FindPeerTarget(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t deadline_ns,
                    PeerTarget* target) {
  *target = {};
  target->has_timeout = blocked.HasTimeLimit();
  char mount_point[1];
  if (FindFileServer(thread, blocked, target, mount_point)) return true;
  const bool is_queue = blocked.call().awaits == base::CallAwaits::kQueue;
  const WaitObject object = ObjectOfWait(thread, blocked);
  switch (object.kind) {
    case WaitObject::Kind::kChild:
      return SetChild(thread, object.number, deadline_ns, target);
    case WaitObject::Kind::kFileLock:
      return SetFileLock(thread, object.number, target);
    case WaitObject::Kind::kDescriptor:
      return SetDescriptor(thread, object.number, is_queue, deadline_ns, target);
    case WaitObject::Kind::kFutex:
      return SetSharedMutex(thread.process, blocked, target);
    case WaitObject::Kind::kNone:
      return FindCommonChild(thread, blocked, deadline_ns, target);
  }
  return false;
}

}  // namespace lagwatch::watchdog
