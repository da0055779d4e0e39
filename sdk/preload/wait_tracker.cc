// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/wait_tracker.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "sdk/preload/exec_environment.h"
#include "sdk/preload/exec_hooks.h"
#include "sdk/preload/preload_config.h"
#include "sdk/preload/preload_environment.h"
#include "sdk/preload/thread_choice.h"
#include "sdk/preload/trace_recording.h"
#include "sdk/preload/watch_summary.h"
#include "sdk/process_monitor.h"
#include "sdk/run_writer.h"

namespace lagwatch::sdk {
namespace {

// A thread may take its name only after its first waits.
constexpr int kNameLooks = 100;

struct ThreadWaits {
  watchdog::WatchedLoop* loop = nullptr;
  int looks_left = 0;         // at a thread that is not watched (yet)
  bool is_known = false;      // the members above are set
  bool is_inside = false;     // a wait of this thread
  bool is_candidate = false;  // as of thread_choice.h
  bool is_chosen = false;     // likewise, and watched
  CandidateWaits candidate;
};
// Initial-exec: no call and no allocation at the first access.
constinit thread_local ThreadWaits t_waits __attribute__((tls_model("initial-exec")));

// Whether this process has tried to start its monitor.
std::atomic<bool> g_start_tried{false};
// As fork() and the loader told; in a child of vfork() or clone() it is another's.
std::atomic<pid_t> g_process_id{0};
std::atomic<bool> g_is_forked{false};

class Preload {
 public:
  static Preload& Instance() {
    static Preload* instance = new Preload;
    return *instance;
  }

  bool is_wanted() const { return is_wanted_; }

  // Whether other threads are watched when the main thread runs no loop.
  bool IsAuto() const { return config_.threads == "auto"; }

  bool ShouldWatch(const char* thread_name) const {
    if (config_.threads == "all") return true;
    if (config_.threads == "main" || IsAuto()) return gettid() == getpid();
    return config_.threads == thread_name;
  }

  // Whether this process is recorded, whatever program it becomes by exec. Children are not.
  bool IsTraced() const {
    return !config_.trace_arena.empty() && config_.trace_pid == static_cast<uint32_t>(getpid());
  }
  void StartTrace() const {
    if (IsTraced()) StartTraceRecording(config_);
  }

  void StartMonitor() {
    MonitorOptions options;
    options.app = AppName(config_);
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
    options.dump_signal = static_cast<int>(config_.dump_signal);
    // One recording at a time.
    options.trace.is_on = config_.has_traces != 0 && config_.trace_arena.empty();
    options.trace.interval_ns = config_.traces_interval_ms * base::kNsPerMs;
    options.trace.has_hooks = config_.traces_hooks != 0;
    options.trace.before_ns = config_.traces_before_s * base::kNsPerSecond;
    options.trace.slow_ns = config_.traces_slow_ms * base::kNsPerMs;
    options.trace.buffer_bytes = uint64_t{config_.traces_buffer_kib} << 10;
    options.trace.max_bytes = uint64_t{config_.traces_max_kib} << 10;
    ProcessMonitor& monitor = ProcessMonitor::Instance();
    if (monitor.Start({.options = options}) == ProcessMonitor::StartResult::kOff)
      NoteUnwatched(monitor.why_off().c_str());
  }

 private:
  Preload() {
    const char* text = std::getenv(kPreloadConfigVariable);
    is_wanted_ = text != nullptr;
    if (!is_wanted_) return;
    config_ = PreloadConfig::Parse(text);
    is_wanted_ = config_.is_watched != 0;
    g_process_id.store(getpid());
    SetUpFollowing(config_, RestoreEnvironment(config_));
    FindExecFunctions();
    BeginSummary(config_);
    pthread_atfork(nullptr, nullptr, [] {
      g_start_tried.store(false);
      g_process_id.store(getpid());
      g_is_forked.store(true);
      // The only thread that is left is the main one now.
      if (t_waits.loop == nullptr) t_waits.is_known = false;
      ForgetThreadChoice();
      t_waits.is_candidate = t_waits.is_chosen = false;
      if (t_waits.loop != nullptr) NoteMainLoop(t_waits.loop);
    });
  }

  bool is_wanted_ = false;
  PreloadConfig config_;
};

// Before main(), while the program has seen nothing of its environment yet.
__attribute__((constructor)) void TakeConfig() { Preload::Instance().StartTrace(); }

// When the program ends by exit() or by returning from main(): a lag that was over by then keeps its
// duration.
__attribute__((destructor)) void StopMonitor() {
  if (g_start_tried.load()) ProcessMonitor::Instance().Stop(0);
  StopTraceRecording();
  EndSummary();
}

void WatchThread(ThreadWaits* waits, const char* name) {
  if (!g_start_tried.exchange(true)) Preload::Instance().StartMonitor();
  NoteProcessWatched();
  waits->loop = ProcessMonitor::Instance().WatchLoop(name);
  waits->looks_left = 0;
  waits->is_candidate = false;
  if (waits->loop == nullptr) return;
  CountWatchedLoop();
  if (gettid() == getpid()) NoteMainLoop(waits->loop);
}

// Of a thread that is not the main one, under `--threads auto`.
void LookAtCandidate(ThreadWaits* waits) {
  waits->is_candidate = true;
  if (!IsChosenAfterWait(&waits->candidate)) return;
  char name[watchdog::WatchedLoop::kMaxNameBytes] = {};
  prctl(PR_GET_NAME, name);  // a file under /proc would take a descriptor of the program's
  WatchThread(waits, name);
  waits->is_chosen = waits->loop != nullptr;
}

// The main thread runs a loop after all.
void LetGo(ThreadWaits* waits) {
  NoteChosenThreadLeft();
  ProcessMonitor::Instance().UnwatchLoop(waits->loop);
  const bool is_inside = waits->is_inside;
  *waits = {};
  waits->is_inside = is_inside;
}

void LookAtThread() {
  ThreadWaits& waits = t_waits;
  if (!waits.is_known) {
    waits.is_known = true;
    waits.looks_left = kNameLooks;
  }
  if (waits.looks_left == 0) return;
  Preload& preload = Preload::Instance();
  if (preload.is_wanted() && preload.IsAuto() && gettid() != getpid()) return LookAtCandidate(&waits);
  --waits.looks_left;
  char name[watchdog::WatchedLoop::kMaxNameBytes] = {};
  prctl(PR_GET_NAME, name);  // a file under /proc would take a descriptor of the program's
  if (!preload.is_wanted() || !preload.ShouldWatch(name)) return;
  WatchThread(&waits, name);
}

}  // namespace

ScopedWait::ScopedWait(const char* name) : name_(name), is_outermost_(!t_waits.is_inside) {
  if (!is_outermost_) return;
  t_waits.is_inside = true;
  if (t_waits.loop != nullptr) t_waits.loop->probe.End();
  if (t_waits.is_candidate) NoteCandidateWaits(&t_waits.candidate);
}

ScopedWait::~ScopedWait() {
  if (!is_outermost_) return;
  int error = errno;
  const bool is_loop = t_waits.loop != nullptr;
  if (t_waits.loop == nullptr) {
    if (!t_waits.is_known || t_waits.looks_left > 0) LookAtThread();
  } else if (!g_start_tried.load(
                 std::memory_order_relaxed)) {  // only ever true again after this thread forked
    NoteProcessWatched();
    if (!g_start_tried.exchange(true)) Preload::Instance().StartMonitor();
  }
  if (t_waits.is_chosen && HasMainLoopReturned()) LetGo(&t_waits);
  if (t_waits.loop != nullptr) t_waits.loop->probe.Begin(name_);
  if (is_loop) NoteLoopRuns();
  t_waits.is_inside = false;
  errno = error;
}

void StartMonitorEarly() {
  if (g_process_id.load() != getpid() || !Preload::Instance().is_wanted()) return;
  // A forked child may do little when its parent has threads; that of a loop is a helper, which calls exec
  // next.
  if (g_is_forked.load() && (RunsLoop() || __libc_single_threaded == 0)) return;
  if (!g_start_tried.exchange(true)) Preload::Instance().StartMonitor();
}

ScopedExec::ScopedExec(bool is_child) : is_own_(!is_child && IsFollowedProcess()) {
  if (!is_own_) return;
  NoteRunReplaced(true);
  has_dispatch_ = t_waits.loop != nullptr && !t_waits.is_inside;
  if (has_dispatch_) t_waits.loop->probe.End();
}

ScopedExec::~ScopedExec() {
  if (!is_own_) return;
  const int error = errno;
  NoteRunReplaced(false);
  if (has_dispatch_) t_waits.loop->probe.Begin("exec");
  errno = error;
}

}  // namespace lagwatch::sdk
