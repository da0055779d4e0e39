// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/wait_tracker.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "sdk/preload/preload_config.h"
#include "sdk/preload/preload_environment.h"
#include "sdk/preload/trace_recording.h"
#include "sdk/process_monitor.h"
#include "stack/thread_state.h"

namespace lagwatch::sdk {
namespace {

// A thread may take its name only after its first waits.
constexpr int kNameLooks = 100;

struct ThreadWaits {
  watchdog::WatchedLoop* loop;
  int looks_left;  // at a thread that is not watched (yet)
  bool is_known;   // the members above are set
  bool is_inside;  // a wait of this thread
};
// Initial-exec: no call and no allocation at the first access.
thread_local ThreadWaits t_waits __attribute__((tls_model("initial-exec")));

// Whether this process has tried to start its monitor.
std::atomic<bool> g_start_tried{false};

class Preload {
 public:
  static Preload& Instance() {
    static Preload* instance = new Preload;
    return *instance;
  }

  bool is_wanted() const { return is_wanted_; }

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
      g_start_tried.store(false);
      // The only thread that is left is the main one now.
      if (t_waits.loop == nullptr) t_waits.is_known = false;
    });
  }

  bool is_wanted_ = false;
  PreloadConfig config_;
};

// Before main(), while the program has seen nothing of its environment yet.
__attribute__((constructor)) void TakeConfig() { Preload::Instance().StartTrace(); }

// Runs when the program ends by exit() or by returning from main(): a hang that is under way ends here.
__attribute__((destructor)) void StopMonitor() {
  if (g_start_tried.load()) ProcessMonitor::Instance().Stop(0, watchdog::StopReason::kProcessEnds);
  StopTraceRecording();
}

void LookAtThread() {
  ThreadWaits& waits = t_waits;
  if (!waits.is_known) {
    waits.is_known = true;
    waits.looks_left = kNameLooks;
  }
  if (waits.looks_left == 0) return;
  --waits.looks_left;
  Preload& preload = Preload::Instance();
  char name[watchdog::WatchedLoop::kMaxNameBytes];
  stack::ReadThreadName(gettid(), name, sizeof name);
  if (!preload.is_wanted() || !preload.ShouldWatch(name)) return;
  if (!g_start_tried.exchange(true)) preload.StartMonitor();
  waits.loop = ProcessMonitor::Instance().WatchLoop(name);
  if (waits.loop != nullptr) waits.loop->is_inferred.store(true);
  waits.looks_left = 0;
}

}  // namespace

ScopedWait::ScopedWait(const char* name) : name_(name), is_outermost_(!t_waits.is_inside) {
  if (!is_outermost_) return;
  t_waits.is_inside = true;
  if (t_waits.loop != nullptr) t_waits.loop->probe.End();
}

ScopedWait::~ScopedWait() {
  if (!is_outermost_) return;
  int error = errno;
  if (t_waits.loop == nullptr) {
    if (!t_waits.is_known || t_waits.looks_left > 0) LookAtThread();
  } else if (!g_start_tried.load(
                 std::memory_order_relaxed)) {  // only ever true again after this thread forked
    if (!g_start_tried.exchange(true)) Preload::Instance().StartMonitor();
  }
  if (t_waits.loop != nullptr) t_waits.loop->probe.Begin(name_);
  t_waits.is_inside = false;
  errno = error;
}

}  // namespace lagwatch::sdk
