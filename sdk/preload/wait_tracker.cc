// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/wait_tracker.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/run_guarded.h"
#include "base/seccomp.h"
#include "sdk/preload/preload_config.h"
#include "sdk/preload/preload_environment.h"
#include "sdk/preload/thread_waits.h"
#include "sdk/preload/trace_recording.h"
#include "sdk/process_monitor.h"
#include "sdk/run_writer.h"

namespace lagwatch::sdk {
namespace {

// A thread may take its name only after its first waits.
constexpr int kNameLooks = 100;

// The process that the library's memory belongs to. A child that was made without fork handlers, or that
// shares its parent's memory until it calls exec, has another id.
std::atomic<pid_t> g_process{0};
// Held while the monitor is started, or stopped before the program's end. Not across a fork.
constinit std::mutex g_start_mutex;

class Preload {
 public:
  static Preload& Instance() {
    static Preload* instance = new Preload;
    return *instance;
  }

  bool is_wanted() const { return is_wanted_; }
  bool is_seccomp_allowed() const { return config_.seccomp_is_allowed != 0; }

  bool ShouldWatch(const char* thread_name) const {
    if (config_.threads == "all") return true;
    if (config_.threads == "main") return gettid() == getpid();
    return config_.threads == thread_name;
  }

  // The environment stays as it is for a program that the process may become by exec: a script's interpreter,
  // say. Children, which inherit it, are not meant.
  bool IsTraced() const {
    return !config_.trace_arena.empty() && config_.trace_pid == static_cast<uint32_t>(getpid());
  }
  // Not under a filter that somebody has put between `lagwatch run` and the program: it may not know our
  // calls.
  bool MayRun() const {
    if (is_seccomp_allowed()) return true;
    return base::ReadSeccomp().filters <= config_.seccomp_filters;
  }
  void StartTrace() const {
    if (IsTraced()) StartTraceRecording(config_);
  }

  void StartMonitor() {
    MonitorOptions options;
    options.app = config_.app;
    options.app_version = config_.app_version;
    options.user = config_.user;
    options.spool_directory = config_.spool_directory;
    auto set = [](uint32_t value_ms, int64_t* option_ns) {
      if (value_ms != PreloadConfig::kUnset) *option_ns = value_ms * base::kNsPerMs;
    };
    set(config_.threshold_ms, &options.watch.threshold_ns);
    set(config_.anr_threshold_ms, &options.watch.anr_threshold_ns);
    set(config_.check_period_ms, &options.watch.check_period_ns);
    set(config_.sample_interval_ms, &options.watch.sample_interval_ns);
    options.is_sent = config_.is_sent != 0;
    options.seccomp_is_allowed = true;  // MayRun() has looked
    options.dump_signal = static_cast<int>(config_.dump_signal);
    // One recording at a time.
    options.trace.is_on = config_.has_traces != 0 && config_.trace_arena.empty();
    options.trace.interval_ns = config_.traces_interval_ms * base::kNsPerMs;
    options.trace.has_hooks = config_.traces_hooks != 0;
    options.trace.before_ns = config_.traces_before_s * base::kNsPerSecond;
    options.trace.slow_ns = config_.traces_slow_ms * base::kNsPerMs;
    options.trace.buffer_bytes = uint64_t{config_.traces_buffer_kib} << 10;
    options.trace.max_bytes = uint64_t{config_.traces_max_kib} << 10;
    ProcessMonitor::Instance().Start({.options = options});
  }

 private:
  Preload() {
    const char* text = std::getenv(kPreloadConfigVariable);
    is_wanted_ = text != nullptr;
    if (!is_wanted_) return;
    config_ = PreloadConfig::Parse(text);
    is_wanted_ = config_.is_watched != 0;
    if (!IsTraced()) RestoreEnvironment(config_);
    pthread_atfork(nullptr, nullptr, [] {
      g_process.store(getpid());
      new (&g_start_mutex) std::mutex;  // another thread of the parent may hold it
      g_wait_switches.start_tried.store(false);
      // The only thread that is left is the main one now.
      if (t_waits.loop == nullptr) t_waits.is_known = false;
    });
  }

  bool is_wanted_ = false;
  PreloadConfig config_;
};

bool HasMemory() {
  constexpr size_t kStartBytes = 256 << 10;
  void* volatile memory = std::malloc(kStartBytes);  // volatile: the compiler may not leave it out
  std::free(memory);
  return memory != nullptr;
}

// Before main(), while the program has seen nothing of its environment yet.
__attribute__((constructor)) void TakeConfig() {
  g_process.store(getpid());
  // The C++ runtime may not have its reserve of memory for exceptions yet.
  if (!HasMemory()) return g_wait_switches.is_off.store(true);
  try {
    const Preload& preload = Preload::Instance();
    if (!preload.MayRun()) {
      g_wait_switches.is_off.store(true);
    } else {
      preload.StartTrace();
    }
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
    g_wait_switches.is_off.store(true);
  }
}

// When the program ends by exit() or by returning from main(): a lag that was over by then keeps its
// duration.
__attribute__((destructor)) void StopMonitor() { StopAll(); }

// Not in a child without fork handlers, which may be confined in a way that was not noticed.
void StartOnce() {
  std::lock_guard lock(g_start_mutex);
  if (g_wait_switches.is_off.load() || g_process.load() != getpid()) return;
  if (!g_wait_switches.start_tried.exchange(true)) Preload::Instance().StartMonitor();
}

// Where cancellation points and allocations follow that must not end the caller.
class ScopedUninterrupted {
 public:
  ScopedUninterrupted() : error_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_); }
  ~ScopedUninterrupted() {
    int ours;
    pthread_setcancelstate(state_, &ours);
    errno = error_;
  }
  ScopedUninterrupted(const ScopedUninterrupted&) = delete;
  ScopedUninterrupted& operator=(const ScopedUninterrupted&) = delete;

 private:
  int error_;
  int state_ = PTHREAD_CANCEL_ENABLE;
};

// True when there was a monitor.
bool StopMonitorAndTrace() {
  std::lock_guard lock(g_start_mutex);
  const bool had_monitor = g_wait_switches.start_tried.load() && ProcessMonitor::Instance().why_off().empty();
  if (had_monitor) ProcessMonitor::Instance().Stop(0);
  StopTraceRecording();
  return had_monitor;
}

void RestartMonitor() {
  std::lock_guard lock(g_start_mutex);
  Preload::Instance().StartMonitor();
}

void LookAtThread(ThreadWaits* waits) {
  if (!waits->is_known) {
    waits->is_known = true;
    waits->looks_left = kNameLooks;
  }
  if (waits->looks_left == 0) return;
  --waits->looks_left;
  Preload& preload = Preload::Instance();
  char name[watchdog::WatchedLoop::kMaxNameBytes] = {};
  if (prctl(PR_GET_NAME, name) != 0) return;
  if (!preload.is_wanted() || !preload.ShouldWatch(name)) return;
  StartOnce();
  waits->loop = ProcessMonitor::Instance().WatchLoop(name);
  waits->looks_left = 0;
}

}  // namespace

void PrepareThread(ThreadWaits* waits) {
  try {
    if (waits->loop == nullptr) {
      LookAtThread(waits);
    } else {
      StartOnce();
    }
  } catch (...) {  // no memory: this thread is not watched
    base::failure_count.fetch_add(1);
    waits->is_known = true;
    waits->looks_left = 0;
  }
}

MonitorPause StopForConfinement(bool is_strict) {
  if (g_wait_switches.is_off.load()) return {};
  const ScopedUninterrupted uninterrupted;
  if (g_process.load() != getpid()) return {};
  try {
    if (!is_strict && Preload::Instance().is_seccomp_allowed()) return {};
    g_wait_switches.is_off.store(true);
    if (g_wait_switches.start_tried.load()) NoteRunStopped(StopCause::kSeccomp);
    return {.had_monitor = StopMonitorAndTrace(), .was_turned_off = true};
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
    return {};
  }
}

void UndoConfinement(MonitorPause pause) {
  if (!pause.was_turned_off) return;
  g_wait_switches.is_off.store(false);
  ResumeMonitor(pause);
}

MonitorPause PauseMonitor() {
  const ScopedUninterrupted uninterrupted;
  if (g_wait_switches.is_off.load() || g_process.load() != getpid()) return {};
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

void StopAll() {
  if (g_wait_switches.is_off.load()) return;  // a confined process may not make our calls
  const ScopedUninterrupted uninterrupted;
  try {
    if (g_wait_switches.start_tried.load()) ProcessMonitor::Instance().Stop(0);
    StopTraceRecording();
  } catch (...) {  // no memory: what was found so far is in the spool
    base::failure_count.fetch_add(1);
  }
}

}  // namespace lagwatch::sdk
