// SPDX-License-Identifier: Apache-2.0
// The processes beside a watched program that send its reports, and say its hangs: the program itself carries
// no HTTP client and reads no symbols, and its reports are sent even if it was killed.
#pragma once

#include <lagwatch/options.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/owned_fd.h"
#include "base/status.h"
#include "tools/run/watch_flags.h"

namespace lagwatch::tools {

// Starts `lagwatch upload …` as a process that is no child of the caller and shares neither its
// terminal nor its files. It lives until the process `followed_pid`, whatever program that becomes, and those
// that are followed have ended and the spool is sent (or a while has passed). Context: background; the
// caller has no other threads.
base::Status StartSidecar(const Options& options, pid_t followed_pid, FleetFlags fleet = {});

inline constexpr char kJournalSocket[] = "/run/systemd/journal/socket";
inline constexpr char kNoJournal[] = "no journal listens on this machine (/run/systemd/journal/socket)";

// A request of `--log`.
struct HangLog {
  std::string to;  // "stderr", "journal"; empty: nothing
  std::string spool_directory;
  uint32_t pid = 0;  // of the program, as its reports have it; 0: see StartHangLogOfMany()
  int64_t since_wall_ms = 0;
  bool has_children = false;        // programs that it starts are followed, too
  bool ends_when_detached = false;  // the program may go on without a watchdog
};

// Starts `lagwatch log …` likewise, except that it keeps this process's stderr. Nothing if `log.to` is empty.
// Errors: also kUnavailable without a journal.
base::Status StartHangLog(const HangLog& log, pid_t followed_pid);

// Starts `lagwatch probe PID SCRIPT` likewise, except that it keeps this process's stderr, to which it prints.
// Nothing if `script` is empty.
base::Status StartProbeConsole(const std::string& script, pid_t followed_pid);

// Starts one for the processes that AddToHangLog() names. It lives until all copies of the returned
// descriptor are closed. `log.pid` is 0, and `log.to` not empty. Errors: as above.
base::Result<base::OwnedFd> StartHangLogOfMany(const HangLog& log);
// Does not wait; a process may be added again.
void AddToHangLog(const base::OwnedFd& log, pid_t pid);

}  // namespace lagwatch::tools
