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

#include "base/process/own_threads.h"
#include "base/process/run_guarded.h"
#include "base/system/capabilities.h"
#include "base/system/float_environment.h"
#include "base/system/seccomp.h"
#include "sdk/monitor.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/fresh_stack.h"
#include "sdk/preload/environment/own_command.h"
#include "sdk/preload/environment/preload_config.h"
#include "sdk/preload/environment/preload_environment.h"
#include "sdk/preload/environment/watch_summary.h"
#include "sdk/preload/send_hooks.h"
#include "sdk/preload/thread_choice.h"
#include "sdk/preload/thread_waits.h"
#include "sdk/preload/trace_recording.h"
#include "sdk/process_monitor.h"
#include "sdk/run/run_writer.h"

namespace lagwatch::sdk {
namespace {

// A thread may take its name only after its first waits.
constexpr int kNameLooks = 100;

constexpr char kConfined[] = "a seccomp filter confines it, which may not allow lagwatch's system calls";
constexpr char kDispatched[] = "it has its system calls dispatched to itself";
constexpr char kNoTicks[] = "it forbids the use of the time stamp counter";
constexpr char kNoKey[] = "it has taken all keys of thread-specific data (PTHREAD_KEYS_MAX)";
constexpr char kNoMemory[] = "there is no memory left";

// Until the command that has it loaded says that its own filters are the same.
constinit std::atomic<bool> g_was_confined_at_load{false};

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

  bool is_wanted() const { return is_wanted_.load(); }
  bool is_seccomp_allowed() const { return config().options.process.seccomp_allows_lagwatch; }

  // Whether other threads are watched when the main thread runs no loop.
  bool IsAuto() const { return config().threads == "auto"; }

  bool ShouldWatch(const char* thread_name) const {
    const std::string& threads = config().threads;
    if (threads == "all") return true;
    if (threads == "main" || IsAuto()) return gettid() == getpid();
    return threads == thread_name;
  }

  // Whether this process is recorded, whatever program it becomes by exec. Children are not.
  bool IsTraced() const {
    return !config().trace_arena.empty() && config().trace_pid == static_cast<uint32_t>(getpid());
  }
  // Not under a filter that was installed between `lagwatch run` and the program: it may not know our calls.
  bool MayRun() const {
    if (is_seccomp_allowed()) return true;
    return base::ReadSeccomp().filters <= config().seccomp_filters;
  }
  // The process that started it may have forbidden this, too.
  static bool HasTicks() {
    int mode = PR_TSC_ENABLE;
    return prctl(PR_GET_TSC, &mode) != 0 || mode == PR_TSC_ENABLE;
  }
  void StartTrace() const {
    if (IsTraced()) StartTraceRecording(config());
  }

  void StartMonitor() {
    const PreloadConfig& config = this->config();
    Options options = config.options;
    options.app = AppName(config);
    options.process.seccomp_allows_lagwatch = true;  // MayRun() has looked
    // One recording at a time.
    if (!config.trace_arena.empty()) options.trace.is_on = options.slow.is_reported = false;
    MonitorOptions monitor_options = ToMonitorOptions(options);
    monitor_options.is_sent = config.is_sent != 0;
    monitor_options.run_pid = config.run_pid;
    watchdog::ServiceBeats* beats = g_service_beats.load();
    if (beats != nullptr && beats->pid() == getpid()) monitor_options.watch.beats = beats;
    ProcessMonitor& monitor = ProcessMonitor::Instance();
    monitor.PromiseEnd();  // see StopMonitor()
    if (monitor.Start({.options = monitor_options}) == ProcessMonitor::StartResult::kOff)
      NoteUnwatched(monitor.why_off().c_str());
  }

  // A process that is followed by `lagwatch run` keeps its configuration.
  bool TryAttach(const PreloadConfig& config) {
    if (is_wanted()) return false;
    const bool is_first = config_.load() == &standard_;
    if (is_first || this->config().ToText() != config.ToText()) config_.store(new PreloadConfig(config));
    if (is_first) SetUp("");
    is_wanted_.store(true);
    return true;
  }
  void Detach() { is_wanted_.store(false); }

 private:
  Preload() {
    const char* text = std::getenv(kPreloadConfigVariable);
    if (text == nullptr) return;
    const auto* config = new PreloadConfig(PreloadConfig::Parse(text));
    config_.store(config);
    const std::string library = RestoreEnvironment(*config);
    if (IsOwnCommand()) return;
    is_wanted_.store(config->is_watched != 0);
    if (config->soft_watchdog != 0) WatchServiceBeats();
    SetUp(library);
    BeginSummary(*config);
  }

  // Once.
  void SetUp(const std::string& library) {
    SetUpFollowing(config(), library);
    FindExecFunctions();
    pthread_atfork(nullptr, nullptr, [] {
      if (base::IsConfined()) return;
      g_process.store(getpid());
      new (&g_start_mutex) std::mutex;  // another thread of the parent may hold it
      g_wait_switches.start_tried.store(false);
      // The only thread that is left is the main one now.
      if (t_waits.loop == nullptr) t_waits.is_known = false;
      ForgetThreadChoice();
      if (t_waits.is_candidate || t_waits.is_chosen) t_waits.is_candidate = t_waits.is_chosen = false;
      if (t_waits.loop != nullptr) NoteMainLoop(t_waits.loop);
    });
  }

  const PreloadConfig& config() const { return *config_.load(); }

  const PreloadConfig standard_;
  std::atomic<bool> is_wanted_{false};
  std::atomic<const PreloadConfig*> config_{&standard_};  // leaked: threads may read it
};

bool HasMemory() {
  constexpr size_t kStartBytes = 256 << 10;
  void* volatile memory = std::malloc(kStartBytes);  // volatile: the compiler may not leave it out
  std::free(memory);
  return memory != nullptr;
}

// Before main(), while the program has seen nothing of its environment yet.
__attribute__((constructor)) void TakeConfig() {
  const base::ScopedFloatEnvironment floats;
  g_process.store(getpid());
  // The C++ runtime may not have its reserve of memory for exceptions yet.
  if (!HasMemory()) return;
  try {
    const Preload& preload = Preload::Instance();
    const bool has_ticks = Preload::HasTicks();
    if (base::IsConfined()) {  // by a constructor that ran before this one
      if (preload.is_wanted()) NoteUnwatched(kDispatched);
    } else if (!has_ticks || !preload.MayRun()) {
      g_was_confined_at_load.store(has_ticks);
      base::SetConfined(true);
      if (preload.is_wanted()) NoteUnwatched(has_ticks ? kConfined : kNoTicks);
    } else {
      g_wait_switches.is_off.store(false);
      preload.StartTrace();
    }
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
    g_wait_switches.is_off.store(true);
  }
}

// Runs when the program ends by exit() or by returning from main(): a hang that is under way ends here.
__attribute__((destructor)) void StopMonitor() {
  const base::ScopedFloatEnvironment floats;
  StopAll();
  EndSummary();
}

// The caller's stack may be a coroutine's of a few KiB.
void StartMonitor() {
  const bool has_run = RunOnFreshStack([](void*) {
    try {
      Preload::Instance().StartMonitor();
    } catch (...) {  // no memory
      base::failure_count.fetch_add(1);
      NoteUnwatched(kNoMemory);
    }
  });
  if (!has_run) NoteUnwatched(kNoMemory);
}

// Not in a child without fork handlers, which may be confined in a way that was not noticed.
void StartOnce() {
  std::lock_guard lock(g_start_mutex);
  if (g_wait_switches.is_off.load() || g_process.load() != getpid()) return;
  if (!g_wait_switches.start_tried.exchange(true)) StartMonitor();
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

void WatchThread(ThreadWaits* waits, const char* name) {
  StartOnce();
  NoteProcessWatched();
  waits->loop = ProcessMonitor::Instance().WatchLoop(name);
  waits->looks_left = 0;
  waits->is_candidate = false;
  if (waits->loop == nullptr) {
    if (!ProcessMonitor::Instance().CanWatchLoops()) NoteUnwatched(kNoKey);
    return;
  }
  waits->generation = waits->loop->generation.load();
  waits->loop->is_inferred.store(true);
  CountWatchedLoop();
  if (gettid() == getpid()) NoteMainLoop(waits->loop);
}

void LookAtThread(ThreadWaits* waits) {
  if (!waits->is_known) {
    waits->is_known = true;
    waits->looks_left = kNameLooks;
  }
  if (waits->looks_left == 0) return;
  Preload& preload = Preload::Instance();
  if (!preload.is_wanted()) {
    waits->looks_left = 0;
    return;
  }
  char name[watchdog::WatchedLoop::kMaxNameBytes] = {};
  if (preload.IsAuto() && gettid() != getpid()) {
    waits->is_candidate = true;
    if (!ChooseThread(waits->candidate) || prctl(PR_GET_NAME, name) != 0) return;
    WatchThread(waits, name);
    waits->is_chosen = waits->loop != nullptr;
    return;
  }
  --waits->looks_left;
  if (prctl(PR_GET_NAME, name) != 0 || !preload.ShouldWatch(name)) return;
  WatchThread(waits, name);
}

const char* ReasonOf(Confinement confinement) {
  switch (confinement) {
    case Confinement::kFilter:
    case Confinement::kStrict:
      break;
    case Confinement::kDispatchedCalls:
      return kDispatched;
    case Confinement::kNoTicks:
      return kNoTicks;
  }
  return kConfined;
}

// The main thread runs a loop after all.
void LetGo(ThreadWaits* waits) {
  NoteChosenThreadLeft();
  ProcessMonitor::Instance().UnwatchLoop(waits->loop);
  const bool is_busy = waits->is_busy;
  *waits = {};
  waits->is_busy = is_busy;
}

}  // namespace

void PrepareThread(ThreadWaits* waits) {
  try {
    if (waits->loop == nullptr) {
      LookAtThread(waits);
    } else if (waits->is_chosen && HasMainLoopReturned()) {
      LetGo(waits);
    } else {
      NoteProcessWatched();
      StartOnce();
    }
  } catch (...) {  // no memory: this thread is not watched
    base::failure_count.fetch_add(1);
    waits->is_known = true;
    waits->looks_left = 0;
    NoteUnwatched(kNoMemory);
  }
}

bool MayRunAttached(const PreloadConfig& config) {
  const bool is_of_container = base::ReadSeccomp().filters <= config.seccomp_filters;
  if (is_of_container && g_was_confined_at_load.exchange(false)) {
    g_wait_switches.is_off.store(false);
    base::SetConfined(false);
  }
  return !g_wait_switches.is_off.load();
}

std::string BeginAttached(const PreloadConfig& config) {
  if (!MayRunAttached(config)) return kConfined;
  Preload& preload = Preload::Instance();
  if (!Preload::HasTicks()) return kNoTicks;
  ProcessMonitor& monitor = ProcessMonitor::Instance();
  if (!monitor.CanWatchLoops()) return kNoKey;
  g_process.store(getpid());
  if (!preload.TryAttach(config)) return "`lagwatch run` watches it already";
  ForgetThreadChoice();
  g_wait_switches.start_tried.store(false);
  StartOnce();
  std::string why = monitor.why_off();
  if (!why.empty()) {
    preload.Detach();
    return why;
  }
  g_wait_switches.attaches.fetch_add(1);
  return {};
}

void EndAttached() {
  Preload::Instance().Detach();
  {
    std::lock_guard lock(g_start_mutex);
    StopIfStarted();
  }
  ProcessMonitor::Instance().UnwatchAllLoops();
  ForgetThreadChoice();
  g_wait_switches.attaches.fetch_add(1);
}

MonitorPause StopForConfinement(Confinement confinement) {
  if (g_wait_switches.is_off.load()) {
    // The others can be seen in this library's constructor.
    if (confinement == Confinement::kDispatchedCalls) base::SetConfined(true);
    return {};
  }
  const ScopedUninterrupted uninterrupted;
  if (g_process.load() != getpid()) {
    t_waits.is_in_confined_child = true;
    return {};
  }
  try {
    const bool is_filter = confinement == Confinement::kFilter;
    if (is_filter && Preload::Instance().is_seccomp_allowed()) return {};
    g_wait_switches.is_off.store(true);
    base::SetConfined(true);
    if (Preload::Instance().is_wanted() && IsFollowedProcess()) NoteUnwatched(ReasonOf(confinement));
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
    if (g_wait_switches.start_tried.load() && OwnsMemory()) ProcessMonitor::Instance().EndWithProcess();
    StopTraceRecording();
  } catch (...) {  // no memory: findings so far are in the spool
    base::failure_count.fetch_add(1);
  }
}

void StartMonitorEarly() {
  if (g_wait_switches.is_off.load()) return;
  const ScopedUninterrupted uninterrupted;
  try {
    if (g_process.load() == getpid() && Preload::Instance().is_wanted()) StartOnce();
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
  if (g_wait_switches.is_off.load() || g_process.load() != getpid()) return {};
  // Takes no lock unless they differ: the call may be a signal handler's.
  if (base::ForEachOwnThread(base::HasCapabilitiesOf)) return {};
  return PauseMonitor();
}

bool OwnsMemory() { return g_process.load() == getpid(); }

ScopedExec::ScopedExec(bool is_child) : is_own_(!is_child && IsFollowedProcess()) {
  if (!is_own_) return;
  NoteRunEnded();
  has_dispatch_ = t_waits.loop != nullptr && t_waits.loop->probe.number_under_way() != 0;
  if (has_dispatch_) t_waits.loop->probe.End();
  const int error = errno;
  ProcessMonitor::Instance().ReportBeforeExec();
  errno = error;
}

ScopedExec::~ScopedExec() {
  if (!is_own_) return;
  const int error = errno;
  NoteRunGoesOn();
  if (has_dispatch_) t_waits.loop->probe.Begin("exec");
  errno = error;
}

}  // namespace lagwatch::sdk
