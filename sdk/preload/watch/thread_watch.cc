// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/watch/thread_watch.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/process/run_guarded.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/watch_summary.h"
#include "sdk/preload/watch/process_config.h"
#include "sdk/preload/watch/process_watch.h"
#include "sdk/process_monitor.h"

namespace lagwatch::sdk {
namespace {

// A thread may take its name only after its first waits.
constexpr int kNameLooks = 100;

void WatchThread(HookedThread* waits, const char* name) {
  StartOnce();
  NoteProcessWatched();
  waits->loop = ProcessMonitor::Instance().WatchLoop(name);
  waits->looks_left = 0;
  waits->is_candidate = false;
  if (waits->loop == nullptr) {
    if (!ProcessMonitor::Instance().CanWatchLoops()) NoteUnwatched(kWhyNoKey);
    return;
  }
  waits->generation = waits->loop->generation.load();
  waits->loop->is_inferred.store(true);
  CountWatchedLoop();
  // A main thread that waits for its workers leaves the program's loops to them.
  if (gettid() == getpid() && !waits->objects.has_home()) NoteMainLoop(waits->loop);
}

void LookAtThread(HookedThread* waits) {
  if (!waits->is_known) {
    waits->is_known = true;
    waits->looks_left = kNameLooks;
  }
  if (waits->looks_left == 0) return;
  const ProcessConfig& config = ProcessConfig::Instance();
  if (!config.is_wanted()) {
    waits->looks_left = 0;
    return;
  }
  char name[watchdog::WatchedLoop::kMaxNameBytes] = {};
  if (config.IsAuto() && gettid() != getpid()) {
    waits->is_candidate = true;
    if (!ChooseThread(waits->candidate) || prctl(PR_GET_NAME, name) != 0) return;
    WatchThread(waits, name);
    waits->is_chosen = waits->loop != nullptr;
    return;
  }
  --waits->looks_left;
  if (prctl(PR_GET_NAME, name) != 0 || !config.ShouldWatch(name)) return;
  WatchThread(waits, name);
}

// The main thread runs a loop after all.
void LetGo(HookedThread* waits) {
  NoteChosenThreadLeft();
  ProcessMonitor::Instance().UnwatchLoop(waits->loop);
  const bool is_busy = waits->is_busy;
  *waits = {};
  waits->is_busy = is_busy;
}

}  // namespace

void PrepareThread(HookedThread* waits) {
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
    NoteUnwatched(kWhyNoMemory);
  }
}

ObjectRole FindObjectRole() {
  const ProcessConfig& config = ProcessConfig::Instance();
  t_waits.objects.SetCautious(config.IsAuto());
  const bool may_be_watched = config.is_wanted() && (gettid() == getpid() || !config.IsAuto());
  return may_be_watched ? ObjectRole::kLearns : ObjectRole::kNever;
}

void RenewThreadInForkedChild() {
  t_waits.object_role = ObjectRole::kUnknown;
  if (t_waits.loop == nullptr) t_waits.is_known = false;
  ForgetThreadChoice();
  if (t_waits.is_candidate || t_waits.is_chosen) t_waits.is_candidate = t_waits.is_chosen = false;
  if (t_waits.loop != nullptr) NoteMainLoop(t_waits.loop);
}

}  // namespace lagwatch::sdk
