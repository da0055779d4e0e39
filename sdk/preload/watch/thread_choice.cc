// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/watch/thread_choice.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/clock.h"

namespace lagwatch::sdk {
namespace {

// Idle loops cost next to nothing, but each has a place in the registry and in usage records.
constexpr int kMaxChosen = 16;
constexpr uint64_t kDispatchesOfALoop = 2;

std::atomic<const watchdog::WatchedLoop*> g_main_loop{nullptr};
std::atomic<int> g_chosen{0};
std::atomic<uint64_t> g_dispatches_at_choice{0};  // of the main thread, when the last thread was chosen
std::atomic<int64_t> g_next_look_ns{0};
std::atomic<bool> g_are_others_watched{false};  // at the last look
std::atomic<bool> g_has_main_ended{false};      // likewise
std::atomic_flag g_is_looking;
policies::MainThreadRole g_main_role;  // by the thread that set the flag

policies::MainThreadFacts LookAtMainThread() {
  policies::MainThreadFacts facts;
  if (const watchdog::WatchedLoop* loop = g_main_loop.load()) {
    const watchdog::LoopWords& words = loop->probe.words();
    const uint64_t ended = words.ended.load();
    facts.dispatches = words.begun.load();
    facts.is_in_dispatch = facts.dispatches != ended;
  }
  // A file under /proc would take a descriptor of the program's. A thread that has ended has no program.
  char program[1];
  // Its own has one, unless the process has left /proc behind by chroot(2).
  facts.has_ended = readlink("/proc/self/exe", program, sizeof program) < 0 && errno == ENOENT &&
                    readlink("/proc/thread-self/exe", program, sizeof program) > 0;
  facts.cpu_ns = base::ThreadCpuNs(getpid());
  return facts;
}

bool AreOthersWatched(int64_t now_ns) {
  if (now_ns < g_next_look_ns.load() || g_is_looking.test_and_set()) return g_are_others_watched.load();
  const policies::MainThreadFacts facts = LookAtMainThread();
  const bool are_watched = g_main_role.LeavesLoopsToOthers(facts, now_ns);
  if (are_watched) g_dispatches_at_choice.store(facts.dispatches);
  g_are_others_watched.store(are_watched);
  g_has_main_ended.store(facts.has_ended);
  g_next_look_ns.store(g_main_role.next_look_ns());
  g_is_looking.clear();
  return are_watched;
}

}  // namespace

void NoteCandidateWaits(CandidateWaits* candidate) {
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (candidate->changed_ns != 0) candidate->history.worked_ns += now_ns - candidate->changed_ns;
  candidate->changed_ns = now_ns;
}

bool IsChoiceDue(CandidateWaits* candidate) {
  const int64_t now_ns = base::SystemClock().MonoNs();
  if (candidate->changed_ns != 0) candidate->history.waited_ns += now_ns - candidate->changed_ns;
  candidate->changed_ns = now_ns;
  ++candidate->history.waits;
  // It looks also while no thread may be chosen yet: the main thread's role shows over time only.
  return now_ns >= g_next_look_ns.load() ||
         (g_are_others_watched.load() && candidate->history.IsLoop(g_has_main_ended.load()));
}

bool ChooseThread(const CandidateWaits& candidate) {
  if (!AreOthersWatched(base::SystemClock().MonoNs()) || !candidate.history.IsLoop(g_has_main_ended.load()))
    return false;
  if (g_chosen.fetch_add(1) < kMaxChosen) return true;
  g_chosen.fetch_sub(1);
  return false;
}

void NoteMainLoop(const watchdog::WatchedLoop* loop) { g_main_loop.store(loop); }

bool HasMainLoopReturned() {
  const watchdog::WatchedLoop* loop = g_main_loop.load(std::memory_order_relaxed);  // set once, and kept
  if (loop == nullptr) return false;
  const uint64_t begun = loop->probe.words().begun.load(std::memory_order_relaxed);  // a late answer will do
  return begun >= g_dispatches_at_choice.load(std::memory_order_relaxed) + kDispatchesOfALoop;
}

void NoteChosenThreadLeft() { g_chosen.fetch_sub(1); }

void ForgetThreadChoice() {
  g_main_loop.store(nullptr);
  g_chosen.store(0);
  g_dispatches_at_choice.store(0);
  g_next_look_ns.store(0);
  g_are_others_watched.store(false);
  g_has_main_ended.store(false);
  g_is_looking.clear();
  g_main_role = {};
}

}  // namespace lagwatch::sdk
