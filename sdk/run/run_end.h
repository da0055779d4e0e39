// SPDX-License-Identifier: Apache-2.0
// Notes in the record of a run how the kernel says that its process ended: by a signal that nothing handles,
// or by itself. For a process that follows the watched one, since no handler of lagwatch's is in that.
// Context: background.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::sdk {

// The wait status (wait(2)) of the process of `pidfd`, which has ended: from the descriptor, since
// Linux 6.15, or from /proc as long as its parent has not waited for it. None if both know nothing any more.
std::optional<int> ReadExitStatus(int pidfd, pid_t pid);

// Writes it into the records in SPOOL/runs of the process that has number `pid` and began at `start_ticks`
// (sdk::ProcessStartTicks), as far as they do not know better: a crash with its signal, a request to stop
// (SIGTERM, SIGINT, SIGHUP), an end by itself. SIGKILL is nothing new: it may be the kernel's, for memory.
// Nor is SIGABRT in a hang: it may be a service manager's.
// Leaves records alone that another process has locked, to report them. Returns the number of records that
// it wrote to.
int NoteExitStatus(const std::string& spool_directory, pid_t pid, uint64_t start_ticks, int status);

// Notes the crashes of runs in SPOOL/runs that nothing followed, as far as this machine has kept them: by
// systemd's store of core dumps, and by the kernel's log where it may be read, which knows the main thread's
// SIGSEGV, SIGILL, SIGFPE and the like. Reads neither if all runs go on or have recorded their end. Returns
// the number of records that it wrote to.
int NoteKeptCrashes(const std::string& spool_directory);

// The parts of that: the signal of a crash of process `pid`, named `name`, whose run began `start_s` after
// the machine's start; 0: none is found. `log` as syslog(2) has it; `boot_id` as 32 hexadecimal digits.
int FindCrashInLog(std::string_view log, std::string_view name, uint32_t pid, int64_t start_s);
int FindCrashInDumps(const std::string& directory, const std::string& boot_id, uint32_t pid);

}  // namespace lagwatch::sdk
