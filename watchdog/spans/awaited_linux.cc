// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>

#include <cstdio>
#include <cstring>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "policies/fact_names.h"
#include "watchdog/spans/awaited.h"
#include "watchdog/waits/file_locks.h"
#include "watchdog/waits/peers/last_user.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/peers/shared_memory.h"
#include "watchdog/waits/process_search.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using policies::Doing;
using policies::VerdictWord;

constexpr int64_t kSearchBudgetNs = 20 * base::kNsPerMs;

VerdictWord WordOf(Doing doing) {
  switch (doing) {
    case Doing::kProcess:
      return VerdictWord::kProcess;
    case Doing::kPipe:
      return VerdictWord::kPipe;
    case Doing::kDisplay:
      return VerdictWord::kDisplay;
    case Doing::kService:
      return VerdictWord::kService;
    case Doing::kNameLookup:
      return VerdictWord::kNameLookup;
    default:
      return VerdictWord::kUnknown;
  }
}

// 0 for a descriptor of another kind, or once the process is gone.
int32_t PidOfPidfd(const base::Thread& thread, int descriptor) {
  return static_cast<int32_t>(NumberInFdInfo(thread, descriptor, "Pid:").value_or(0));
}

void FindChild(const base::Thread& thread, int32_t pid, Awaited* awaited) {
  awaited->word = VerdictWord::kProcess;
  awaited->pid = pid;
  awaited->process_count = pid > 0 ? 1 : FindChildren(thread, kSearchBudgetNs, &awaited->pid);
}

void FindLock(const base::Thread& thread, int descriptor, Awaited* awaited) {
  const FileLock lock = ReadAwaitedLock(thread, descriptor);
  if (lock.kind[0] == '\0') return;
  awaited->word = VerdictWord::kLock;
  awaited->pid = lock.holder_pid;
  awaited->process_count = lock.holder_count;
  const bool is_of_open_file = lock.holder_pid == 0;
  std::snprintf(awaited->address, sizeof awaited->address, "%s lock of a file%s", lock.kind,
                is_of_open_file ? "; its holder is unknown" : "");
}

void FindProcess(const base::Process& process, const PeerTarget& target, Awaited* awaited) {
  awaited->pid = FindProcessWith(process, target, kSearchBudgetNs);
  awaited->process_count = awaited->pid != 0;
}

// By the number of its end, which another process has open, too.
void FindEnd(const base::Process& process, const char* kind, uint64_t inode, mode_t access,
             Awaited* awaited) {
  if (inode == 0) return;
  PeerTarget target{.access = access};
  std::snprintf(target.link, sizeof target.link, "%s:[%lu]", kind, static_cast<unsigned long>(inode));
  FindProcess(process, target, awaited);
}

// A process that only FindPeerTarget() knows: of a terminal, a queue or a file system.
void FindOther(const base::Thread& thread, const stack::BlockedThread& blocked, Awaited* awaited) {
  PeerTarget target;
  if (FindFileServer(thread, blocked, &target, awaited->address)) {
    awaited->word = VerdictWord::kDisk;
  } else if (FindPeerTarget(thread, blocked, SearchClockNs() + kSearchBudgetNs, &target) &&
             (target.kind == policies::LockKind::kTerminal || target.kind == policies::LockKind::kQueue)) {
    const bool has_terminal = target.kind == policies::LockKind::kTerminal && target.is_link_end;
    awaited->word = has_terminal ? VerdictWord::kTerminal : VerdictWord::kPipe;
  }
  if (awaited->word != VerdictWord::kUnknown) FindProcess(thread.process, target, awaited);
}

// Only candidates, and called so. A mutex names its owner.
void AddSharers(const base::Thread& thread, const stack::BlockedThread& blocked, Awaited* awaited) {
  constexpr int64_t kMapsBudgetNs = 60 * base::kNsPerMs;  // of all processes
  PeerTarget target;
  const bool is_private = (blocked.arguments[1] & FUTEX_PRIVATE_FLAG) != 0;
  if (is_private || FindPeerTarget(thread, blocked, SearchClockNs() + kSearchBudgetNs, &target)) return;
  awaited->process_count = FindSharers(thread, blocked, kMapsBudgetNs, &awaited->pid);
  if (awaited->process_count == 0) return;
  awaited->word = VerdictWord::kLock;
  std::snprintf(awaited->address, sizeof awaited->address, "probably: it shares the memory of the lock");
}

// Only a candidate, and called so.
void AddLastUser(const base::Thread& thread, const stack::BlockedThread& blocked, Awaited* awaited) {
  awaited->pid = FindLastUser(thread, blocked);
  if (awaited->pid == 0) return;
  const bool is_queue = blocked.call().awaits == base::CallAwaits::kQueue;
  awaited->word = is_queue ? VerdictWord::kPipe : VerdictWord::kLock;
  awaited->process_count = 1;
  std::snprintf(awaited->address, sizeof awaited->address, "probably: it used the %s last",
                is_queue ? "queue" : "semaphore");
}

void FindPeer(const base::Thread& thread, int descriptor, Awaited* awaited) {
  if (const uint64_t socket = InodeOfDescriptor(thread, descriptor, "socket")) {
    const SocketPeer peer = AskAboutSocket(thread, socket);
    awaited->word = WordOf(peer.doing);
    if (awaited->word == VerdictWord::kUnknown) return;
    std::memcpy(awaited->address, peer.address, sizeof peer.address);
    if (awaited->word != VerdictWord::kNameLookup || peer.inode != 0)
      FindEnd(thread.process, "socket", peer.inode, 0, awaited);
  } else if (const uint64_t pipe = InodeOfDescriptor(thread, descriptor, "pipe")) {
    awaited->word = VerdictWord::kPipe;
    FindEnd(thread.process, "pipe", pipe, AccessOfOtherEnd(thread, descriptor), awaited);
  } else if (const int32_t pid = PidOfPidfd(thread, descriptor)) {
    FindChild(thread, pid, awaited);
  }
}

}  // namespace

Awaited FindAwaited(const base::Thread& thread, const stack::ThreadFiles* files) {
  Awaited awaited;
  stack::BlockedThread blocked{};
  if (stack::ReadThreadActivity(thread, files, &blocked) != stack::ThreadActivity::kBlocked) return awaited;
  const WaitObject object = ObjectOfWait(thread, blocked);
  switch (object.kind) {
    case WaitObject::Kind::kChild:
      FindChild(thread, object.number, &awaited);
      break;
    case WaitObject::Kind::kFileLock:
      FindLock(thread, object.number, &awaited);
      break;
    case WaitObject::Kind::kDescriptor:
      FindPeer(thread, object.number, &awaited);
      break;
    case WaitObject::Kind::kFutex:
    case WaitObject::Kind::kNone:
      break;
  }
  if (object.kind == WaitObject::Kind::kFutex) {
    AddSharers(thread, blocked, &awaited);
  } else if (awaited.word == VerdictWord::kUnknown) {
    FindOther(thread, blocked, &awaited);
  }
  if (awaited.word == VerdictWord::kUnknown) AddLastUser(thread, blocked, &awaited);
  if (awaited.pid != 0) ReadProcessName(awaited.pid, awaited.process_name, sizeof awaited.process_name);
  return awaited;
}

void AddAwaitedFacts(const Awaited& awaited, FactList* facts) {
  if (awaited.word == VerdictWord::kUnknown || !awaited.is_named()) return;
  facts->AddText(policies::kWaitsForFact, policies::VerdictName(awaited.word));
  if (awaited.pid != 0) facts->Add(policies::kWaitsForPidFact, awaited.pid);
  if (awaited.process_name[0] != '\0') facts->AddText(policies::kWaitsForNameFact, awaited.process_name);
  if (awaited.process_count > 1) facts->Add(policies::kWaitsForCountFact, awaited.process_count);
  if (awaited.address[0] != '\0') facts->AddText(policies::kWaitsForAddressFact, awaited.address);
}

}  // namespace lagwatch::watchdog
