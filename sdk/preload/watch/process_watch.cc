// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/watch/process_watch.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <new>

#include "base/process/own_threads.h"
#include "base/process/run_guarded.h"
#include "base/system/capabilities.h"
#include "base/system/float_environment.h"
#include "base/system/seccomp.h"
#include "sdk/monitor.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/fresh_stack.h"
#include "sdk/preload/environment/watch_summary.h"
#include "sdk/preload/watch/process_config.h"
#include "sdk/preload/watch/thread_state.h"
#include "sdk/preload/watch/trace_recording.h"
#include "sdk/probe/process_probes.h"
#include "sdk/process_monitor.h"
#include "sdk/run/run_writer.h"

namespace lagwatch::sdk {

constinit std::atomic<watchdog::ServiceBeats*> g_service_beats{nullptr};

namespace {

// The process that the library's memory belongs to. A child that was made without fork handlers, or that
// shares its parent's memory until it calls exec, has another id.
std::atomic<pid_t> g_process{0};
// Held while the monitor is started, or stopped before the program's end. Not across a fork.
constinit std::mutex g_start_mutex;

void TryStartMonitor() {
  const ProcessConfig& config = ProcessConfig::Instance();
  MonitorOptions options = ToMonitorOptions(config.MonitorOptions());
  options.is_sent = config.get().is_sent != 0;
  options.run_pid = config.get().run_pid;
  watchdog::ServiceBeats* beats = g_service_beats.load();
  if (beats != nullptr && beats->pid() == getpid()) options.watch.beats = beats;
  ProcessMonitor& monitor = ProcessMonitor::Instance();
  monitor.PromiseEnd();  // see EndWithProcess()
  if (monitor.Start({.options = options}) == ProcessMonitor::StartResult::kOff)
    NoteUnwatched(monitor.why_off().c_str());
}

// The caller's stack may be a coroutine's of a few KiB.
void StartMonitor() {
  const bool has_run = RunOnFreshStack([](void*) {
    try {
      TryStartMonitor();
    } catch (...) {  // no memory
      base::failure_count.fetch_add(1);
      NoteUnwatched(kWhyNoMemory);
    }
  });
  if (!has_run) NoteUnwatched(kWhyNoMemory);
}

// Encloses cancellation points and allocations that must not end the caller.
class ScopedUninterrupted {
 public:
  // The type, too: a cancellation under way looks at that alone.
  ScopedUninterrupted() : error_(errno) {
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_);
  }
  ~ScopedUninterrupted() {
    int ours;
    pthread_setcancelstate(state_, &ours);
    if (type_ != PTHREAD_CANCEL_DEFERRED) pthread_setcanceltype(type_, &ours);
    errno = error_;
  }
  ScopedUninterrupted(const ScopedUninterrupted&) = delete;
  ScopedUninterrupted& operator=(const ScopedUninterrupted&) = delete;

 private:
  int error_;
  int type_ = PTHREAD_CANCEL_DEFERRED;
  int state_ = PTHREAD_CANCEL_ENABLE;
  base::ScopedFloatEnvironment floats_;
};

// True when there was a monitor. With g_start_mutex locked.
bool StopIfStarted() {
  const bool had_monitor = g_wait_switches.start_tried.load() && ProcessMonitor::Instance().why_off().empty();
  if (had_monitor) ProcessMonitor::Instance().Stop(0);
  return had_monitor;
}

bool StopMonitorAndTrace() {
  std::lock_guard lock(g_start_mutex);
  const bool had_monitor = StopIfStarted();
  StopTraceRecording();
  return had_monitor;
}

void RestartMonitor() {
  std::lock_guard lock(g_start_mutex);
  StartMonitor();
}

const char* ReasonOf(Confinement confinement) {
  switch (confinement) {
    case Confinement::kFilter:
    case Confinement::kStrict:
      break;
    case Confinement::kDispatchedCalls:
      return kWhyDispatched;
    case Confinement::kNoTicks:
      return kWhyNoTicks;
  }
  return kWhyConfined;
}

}  // namespace

bool OwnsMemory() { return g_process.load() == getpid(); }

void TakeMemory() { g_process.store(getpid()); }

void RenewProcessInForkedChild() {
  TakeMemory();
  new (&g_start_mutex) std::mutex;  // another thread of the parent may hold it
  g_wait_switches.start_tried.store(false);
}

void StartOnce() {
  std::lock_guard lock(g_start_mutex);
  if (g_wait_switches.is_off.load() || !OwnsMemory()) return;
  if (!g_wait_switches.start_tried.exchange(true)) StartMonitor();
}

void StopMonitor() {
  std::lock_guard lock(g_start_mutex);
  StopIfStarted();
}

void WatchServiceBeats(const PreloadConfig& config) {
  if (config.soft_watchdog == 0) return;
  if (config.notify_socket.empty()) {
    g_service_beats.store(watchdog::ServiceBeats::FromEnvironment().release());
    return;
  }
  const auto manager =
      watchdog::ServiceManager::At(config.notify_socket, uint64_t{config.watchdog_timeout_ms} * 1000);
  g_service_beats.store(manager ? watchdog::ServiceBeats::For(*manager).release() : nullptr);
}

void IgnoreServiceBeats() { g_service_beats.store(nullptr); }

MonitorPause StopForConfinement(Confinement confinement) {
  if (confinement != Confinement::kFilter || !ProcessConfig::Instance().is_seccomp_allowed())
    EndProbesForConfinement();
  if (g_wait_switches.is_off.load()) {
    // The others can be seen in this library's constructor.
    if (confinement == Confinement::kDispatchedCalls) base::SetConfined(true);
    return {};
  }
  const ScopedUninterrupted uninterrupted;
  if (!OwnsMemory()) {
    t_waits.is_in_confined_child = true;
    return {};
  }
  try {
    const bool is_filter = confinement == Confinement::kFilter;
    if (is_filter && ProcessConfig::Instance().is_seccomp_allowed()) return {};
    g_wait_switches.is_off.store(true);
    base::SetConfined(true);
    if (ProcessConfig::Instance().is_wanted() && IsFollowedProcess()) NoteUnwatched(ReasonOf(confinement));
    AbandonSummary();
    StopFollowing();
    if (g_wait_switches.start_tried.load()) NoteRunStopped(StopCause::kSeccomp);
    return {.had_monitor = StopMonitorAndTrace(), .was_turned_off = true};
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
    return {};
  }
}

void UndoConfinement(MonitorPause pause) {
  if (!pause.was_turned_off) return;
  const ScopedUninterrupted uninterrupted;
  g_wait_switches.is_off.store(false);
  base::SetConfined(false);
  ResumeSummary();
  ResumeFollowing();
  ResumeMonitor(pause);
}

MonitorPause PauseMonitor() {
  const ScopedUninterrupted uninterrupted;
  if (g_wait_switches.is_off.load() || !OwnsMemory()) return {};
  try {
    return {.had_monitor = StopMonitorAndTrace()};
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
    return {};
  }
}

void ResumeMonitor(MonitorPause pause) {
  if (!pause.had_monitor) return;
  const ScopedUninterrupted uninterrupted;
  try {
    RestartMonitor();
  } catch (...) {  // no memory: it stays off
    base::failure_count.fetch_add(1);
  }
}

void EndWithProcess() {
  if (g_wait_switches.is_off.load()) return;  // a confined process may not make our calls
  const ScopedUninterrupted uninterrupted;
  try {
    if (g_wait_switches.start_tried.load() && OwnsMemory()) ProcessMonitor::Instance().EndWithProcess();
    StopTraceRecording();
  } catch (...) {  // no memory: findings so far are in the spool
    base::failure_count.fetch_add(1);
  }
}

void ReportBeforeExec() {
  const int error = errno;
  ProcessMonitor::Instance().ReportBeforeExec();
  errno = error;
}

void StartMonitorEarly() {
  if (g_wait_switches.is_off.load()) return;
  const ScopedUninterrupted uninterrupted;
  try {
    if (OwnsMemory() && ProcessConfig::Instance().is_wanted()) StartOnce();
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
  }
}

void LookAtServiceBeats() {
  StartMonitorEarly();
  ProcessMonitor::Instance().WakeWatchdog();
}

void StartBeforeUserChange(uid_t user) {
  constexpr uid_t kUnchanged = static_cast<uid_t>(-1);
  if (user == 0 || user == kUnchanged || g_wait_switches.is_off.load()) return;
  if (geteuid() == 0) StartMonitorEarly();
}

MonitorPause PauseIfThreadsDiffer() {
  if (g_wait_switches.is_off.load() || !OwnsMemory()) return {};
  // Takes no lock unless they differ: the call may be a signal handler's.
  if (base::ForEachOwnThread(base::HasCapabilitiesOf)) return {};
  return PauseMonitor();
}

}  // namespace lagwatch::sdk
