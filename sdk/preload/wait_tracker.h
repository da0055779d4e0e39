// SPDX-License-Identifier: Apache-2.0
// Starts the process's monitor at the first wait of a thread that is to be watched, so a program without a
// loop gets no thread and no file, and a child that goes on after fork() gets a monitor of its own once it
// waits. Throws nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "sdk/preload/environment/preload_config.h"
#include "sdk/preload/thread_waits.h"

namespace lagwatch::sdk {

// Finds out whether the calling thread is to be watched, and starts the monitor if need be. The caller has
// disabled cancellation. Context: background.
void PrepareThread(ThreadWaits* waits);

// Whether a process that runs already may be watched or recorded as `config` says: it has no seccomp filters
// that the command does not have. Context: background.
bool MayRunAttached(const PreloadConfig& config);

// Watches this process as `config` says, from a thread of lagwatch's, after the library was loaded into the
// running process; its hooks are not in place yet. Returns why it cannot; empty when it can. Context:
// background.
std::string BeginAttached(const PreloadConfig& config);
// Stops the monitor and forgets all loops; the hooks are not in place any more, except for threads that are
// inside them. Context: background.
void EndAttached();

// Stops the monitor and the recording. Context: background.
void StopAll();

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
// Before the calling thread is confined: stops monitor and recording for good, and notes the cause. Does
// nothing where lagwatch is off, where filters are said to allow our calls, and in a child that shares its
// parent's memory or was made without fork handlers. Keeps errno. Context: background.
MonitorPause StopForConfinement(Confinement confinement);
// The kernel refused: starts again the part that was stopped. Keeps errno. Context: background.
void UndoConfinement(MonitorPause pause);

// Around a call that the kernel makes only for a process with one thread. Recordings do not go on. Keep
// errno. Context: background.
MonitorPause PauseMonitor();
void ResumeMonitor(MonitorPause pause);

// Starts the process's monitor before its first wait. Does nothing when it was started, and in a child that
// shares this process's memory. Keeps errno. Context: background.
void StartMonitorEarly();
// Likewise, after the program has notified its service manager; its watchdog looks at that at once.
void LookAtServiceBeats();
// Likewise, before root becomes `user`, which may not open the spool directory. Context: background.
void StartBeforeUserChange(uid_t user);
// Before the C library makes a system call on all threads: it ends the process when the results differ.
// Stops the monitor for the call if its threads have other capabilities than the calling thread. Keeps
// errno. Context: background.
MonitorPause PauseIfThreadsDiffer();

// Looks up the C library's functions that start a program, for the hooks in front of them: in a child of
// vfork() or fork() it would be too late, because the loader's lock may be held there. Context: background,
// in the library's constructor.
void FindExecFunctions();

// Makes the system call SYS_execve, or SYS_execveat, as the function in front of execve(), or execveat(),
// does. Context: any, a vfork() child included.
int ExecBySyscall(long number, long a, long b, long c, long d, long e);

// False in a child that shares its parent's memory or was made without fork handlers. Context: any, signal.
bool OwnsMemory();

// Around an exec on the calling thread of the process itself: the dispatch ends, so that no capture
// signal is sent that the next program would get, and the run's record says that the run ended well. When
// exec fails, both go on. Does nothing in a child that shares this process's memory. Context: any, a
// vfork() child included.
class ScopedExec {
 public:
  // Does nothing for a program that is started as a child.
  explicit ScopedExec(bool is_child);
  ~ScopedExec();
  ScopedExec(const ScopedExec&) = delete;
  ScopedExec& operator=(const ScopedExec&) = delete;

 private:
  bool is_own_;
  bool has_dispatch_ = false;
};

}  // namespace lagwatch::sdk
