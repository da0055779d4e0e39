// SPDX-License-Identifier: Apache-2.0
// Starts and stops this process's monitor and its recording: at the first wait of a thread that is to be
// watched, so a program without a loop gets no thread and no file; earlier where it would be too late by
// then; and not at all where the program confines itself. Throws nothing. Context: background.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "sdk/preload/environment/preload_config.h"
#include "watchdog/service/service_beats.h"

namespace lagwatch::sdk {

// False in a child that shares its parent's memory or was made without fork handlers. Context: any, signal.
bool OwnsMemory();
// The calling process owns the library's memory from now on.
void TakeMemory();
// To be called in a forked child: it has no monitor yet, and the lock of starts may be held by a thread that
// it does not have.
void RenewProcessInForkedChild();

// Starts the monitor, unless that was tried before. Not in a child without fork handlers, which may be
// confined in a way that was not noticed. The caller has disabled cancellation.
void StartOnce();
// Stops the monitor. The caller has disabled cancellation.
void StopMonitor();
// Stops the monitor and the recording at the end of the process.
void EndWithProcess();
// Has hangs reported that nothing would report any more once the process has become another program. Keeps
// errno.
void ReportBeforeExec();

// `--soft-watchdog`: a program's own notifications of systemd's watchdog. Null: nothing is looked at. Never
// freed, because any thread may be looking.
extern std::atomic<watchdog::ServiceBeats*> g_service_beats;
// Looks at them from now on, if the configuration asks for it and a service manager waits for this process.
// Before the monitor is started.
void WatchServiceBeats(const PreloadConfig& config);
// Looks at nothing from now on.
void IgnoreServiceBeats();
// Starts the monitor after the program has notified its service manager; its watchdog looks at that at once.
void LookAtServiceBeats();

// Starts the process's monitor before its first wait. Does nothing when it was started, and in a child that
// shares this process's memory. Keeps errno.
void StartMonitorEarly();
// Likewise, before root becomes `user`, which may not open the spool directory.
void StartBeforeUserChange(uid_t user);

// The monitor that was stopped and may continue later.
struct MonitorPause {
  bool had_monitor = false;
  bool was_turned_off = false;
};

// The ways in which a thread forbids itself what lagwatch does on it.
enum class Confinement : uint8_t {
  kFilter,           // seccomp, by a filter: it may be said to allow our calls
  kStrict,           // seccomp, to four calls
  kDispatchedCalls,  // system calls become signals (syscall user dispatch)
  kNoTicks,          // reading the time stamp counter becomes a fault
};
// To be called before the calling thread is confined: stops monitor and recording for good, and notes the
// cause. Does nothing where lagwatch is off, where filters are said to allow our calls, and in a child that
// shares its parent's memory or was made without fork handlers. Keeps errno. Context: background.
MonitorPause StopForConfinement(Confinement confinement);
// The kernel refused: starts again the part that was stopped. Keeps errno. Context: background.
void UndoConfinement(MonitorPause pause);

// To be called around a call that the kernel makes only for a process with one thread. Recordings do not go
// on. Keep errno. Context: background.
MonitorPause PauseMonitor();
void ResumeMonitor(MonitorPause pause);

// To be called before the C library makes a system call on all threads: it ends the process when the results
// differ.
// Stops the monitor for the call if its threads have other capabilities than the calling thread. Keeps
// errno. Context: background.
MonitorPause PauseIfThreadsDiffer();

}  // namespace lagwatch::sdk
