// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/library_start.h"

#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/clock.h"
#include "base/process/run_guarded.h"
#include "base/system/float_environment.h"
#include "base/system/seccomp.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/watch_summary.h"
#include "sdk/preload/watch/process_config.h"
#include "sdk/preload/watch/process_watch.h"
#include "sdk/preload/watch/thread_choice.h"
#include "sdk/preload/watch/thread_state.h"
#include "sdk/preload/watch/trace_recording.h"
#include "sdk/probe/loop_sites.h"
#include "sdk/process_monitor.h"

namespace lagwatch::sdk {
namespace {

// True until the command that has the library loaded says that its own filters are the same.
constinit std::atomic<bool> g_was_confined_at_load{false};
constinit std::atomic<bool> g_is_set_up{false};

bool HasMemory() {
  constexpr size_t kStartBytes = 256 << 10;
  void* volatile memory = std::malloc(kStartBytes);  // volatile: the compiler may not leave it out
  std::free(memory);
  return memory != nullptr;
}

// The process that started it may have forbidden this, as may the program itself.
bool HasTicks() {
  int mode = PR_TSC_ENABLE;
  return prctl(PR_GET_TSC, &mode) != 0 || mode == PR_TSC_ENABLE;
}

// By functions that the interpreters export, of the program's own or of a library that it is linked with.
// Before main(), or on a thread of ours: dlsym(3) waits for a thread that loads a library.
void FindScriptsWithoutFrames() {
  constexpr const char* kInterpreters[] = {"Py_Version", "Perl_runops_standard", "lua_callk", "lua_call",
                                           "ruby_version"};
  const bool has_any = std::ranges::any_of(
      kInterpreters, [](const char* name) { return dlsym(RTLD_DEFAULT, name) != nullptr; });
  static_cast<void>(dlerror());  // of the ones that are not there: the program may ask for its own
  WaitHome::scripts_have_no_frames.store(has_any);
}

// Once per process, however often it is attached to.
void SetUp(const ProcessConfig& config) {
  if (g_is_set_up.exchange(true)) return;
  FindScriptsWithoutFrames();
  SetUpFollowing(config.get(), config.library());
  AddForkHandlers();
}

bool AreLoopsWatched() { return !g_wait_switches.is_off.load() && ProcessConfig::Instance().is_wanted(); }

// Of `lagwatch run`, for the program that it has started.
void BeginProbes(const PreloadConfig& config) {
  if (config.is_probing_forbidden != 0) ForbidProbes();
  if (config.probe_wait_ms == 0 || config.probe_pid != static_cast<uint32_t>(getpid())) return;
  // The command sees that no socket is there.
  if (OpenProbesHere(config.probe_directory).why_not.empty())
    AwaitFirstProbes(config.probe_wait_ms * base::kNsPerMs);
}

void Begin() {
  const ProcessConfig& config = ProcessConfig::Instance();
  if (config.is_of_run()) {
    WatchServiceBeats(config.get());
    SetUp(config);
    BeginSummary(config.get());
  }
  const bool has_ticks = HasTicks();
  if (base::IsConfined()) {  // by a constructor that ran before this one
    if (config.is_wanted()) NoteUnwatched(kWhyDispatched);
  } else if (!has_ticks || !config.MayRun()) {
    g_was_confined_at_load.store(has_ticks);
    base::SetConfined(true);
    if (config.is_wanted()) NoteUnwatched(has_ticks ? kWhyConfined : kWhyNoTicks);
  } else {
    g_wait_switches.is_off.store(false);
    if (config.IsTraced()) StartTraceRecording(config.get());  // else the command sees that nothing comes
    BeginProbes(config.get());
  }
}

// Before main(), while the program has seen nothing of its environment yet.
__attribute__((constructor)) void BeginInProcess() {
  const base::ScopedFloatEnvironment floats;
  TakeMemory();
  // The C++ runtime may not have its reserve of memory for exceptions yet.
  if (!HasMemory()) return;
  try {
    Begin();
  } catch (...) {  // no memory
    base::failure_count.fetch_add(1);
    g_wait_switches.is_off.store(true);
  }
}

// Runs when the program ends by exit() or by returning from main(): a hang that is under way ends here.
__attribute__((destructor)) void EndInProcess() {
  const base::ScopedFloatEnvironment floats;
  NoteThreadsAtEnd();
  FlushProbes();
  EndWithProcess();
  EndSummary();
}

}  // namespace

bool MayRunAttached(const PreloadConfig& config) {
  const bool is_of_container = base::ReadSeccomp().filters <= config.seccomp_filters;
  if (is_of_container && g_was_confined_at_load.exchange(false)) {
    g_wait_switches.is_off.store(false);
    base::SetConfined(false);
  }
  return !g_wait_switches.is_off.load();
}

OpenedProbes OpenProbesHere(const std::string& directory) {
  static const LoopSource kLoops{.are_watched = &AreLoopsWatched,
                                 .registry = ProcessMonitor::Instance().registry()};
  LoopSites::Instance().UseLoops(&kLoops);
  return OpenProbes(directory);
}

std::string BeginAttached(const PreloadConfig& config) {
  if (!MayRunAttached(config)) return kWhyConfined;
  ProcessConfig& own = ProcessConfig::Instance();
  if (!HasTicks()) return kWhyNoTicks;
  ProcessMonitor& monitor = ProcessMonitor::Instance();
  if (!monitor.CanWatchLoops()) return kWhyNoKey;
  TakeMemory();
  if (!own.TryAttach(config)) return "`lagwatch run` watches it already";
  SetUp(own);
  ForgetThreadChoice();
  WatchServiceBeats(config);
  g_wait_switches.start_tried.store(false);
  StartOnce();
  std::string why = monitor.why_off();
  if (!why.empty()) {
    IgnoreServiceBeats();
    own.Detach();
    return why;
  }
  g_wait_switches.attaches.fetch_add(1);
  return {};
}

void EndAttached() {
  IgnoreServiceBeats();
  ProcessConfig::Instance().Detach();
  StopMonitor();
  ProcessMonitor::Instance().UnwatchAllLoops();
  ForgetThreadChoice();
  g_wait_switches.attaches.fetch_add(1);
}

}  // namespace lagwatch::sdk
