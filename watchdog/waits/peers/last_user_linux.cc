// SPDX-License-Identifier: Apache-2.0
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "watchdog/waits/peers/last_user.h"

namespace lagwatch::watchdog {
namespace {

// Numbers of objects mean the same only within a namespace.
bool SharesIpc(const base::Process& process) {
  if (process.is_own()) return true;
  char own[32];
  char other[32];
  const ssize_t own_size = readlink("/proc/self/ns/ipc", own, sizeof own);
  const ssize_t size = readlink(base::ProcessPath(process, "ns/ipc").c_str(), other, sizeof other);
  return size > 0 && size == own_size && std::equal(own, own + size, other);
}

int32_t LastUserOfSemaphore(const base::Process& process, const stack::BlockedThread& blocked) {
  constexpr uint64_t kMostOperations = 16;
  sembuf operations[kMostOperations];
  const uint64_t count = std::min(blocked.arguments[2], kMostOperations);
  const size_t size_bytes = count * sizeof(sembuf);
  if (process.Read(blocked.arguments[1], operations, size_bytes) != size_bytes) return 0;
  const auto end = operations + count;
  // One that adds does not wait.
  const auto waiting = std::find_if(operations, end, [](const sembuf& one) { return one.sem_op <= 0; });
  if (waiting == end) return 0;
  // Not through the C library, whose semctl() the program may define.
  const long pid = syscall(SYS_semctl, static_cast<int>(blocked.arguments[0]), waiting->sem_num, GETPID, 0);
  return static_cast<int32_t>(std::max(pid, 0L));
}

int32_t LastUserOfQueue(uint64_t id, bool is_sender) {
  int32_t pid = 0;
  char lines[4096];
  base::ForEachLine("/proc/sysvipc/msg", lines, [&](std::string_view line) {
    pid = LastUserInLine(line, id, is_sender);
    return pid == 0;
  });
  return pid;
}

}  // namespace

// key msqid perms cbytes qnum lspid lrpid …: the key may be negative, the permissions are octal.
int32_t LastUserInLine(std::string_view line, uint64_t id, bool is_sender) {
  uint64_t columns[7] = {};
  for (uint64_t& column : columns) {
    line.remove_prefix(std::min(line.find_first_not_of(" -"), line.size()));
    if (!base::ConsumeDecimal(&line, &column)) return 0;
  }
  return columns[1] == id ? static_cast<int32_t>(columns[is_sender ? 5 : 6]) : 0;
}

int32_t FindLastUser(const base::Thread& thread, const stack::BlockedThread& blocked) {
  if (base::HasForeignProcIds() || !SharesIpc(thread.process)) return 0;
  int32_t pid = 0;
  switch (blocked.syscall_number) {
    case SYS_semop:
    case SYS_semtimedop:
      pid = LastUserOfSemaphore(thread.process, blocked);
      break;
    case SYS_msgrcv:
    case SYS_msgsnd:
      pid = LastUserOfQueue(blocked.arguments[0], /*is_sender=*/blocked.syscall_number == SYS_msgrcv);
      break;
    default:
      break;
  }
  return pid == thread.process.pid() ? 0 : pid;
}

}  // namespace lagwatch::watchdog
