// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/watch_summary.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>

#include "base/clock.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/preload_environment.h"
#include "sdk/preload/environment/unwatched_notes.h"
#include "sdk/process_monitor.h"

namespace lagwatch::sdk {
namespace {

// Shorter runs without a loop are those of commands, which have none.
constexpr int64_t kNotedRunNs = 5 * base::kNsPerSecond;

struct Summary {
  PreloadConfig config;
  int64_t begin_ns = 0;
  struct stat errors {};  // stderr's, at the start
  bool has_errors = false;
};
Summary* g_summary = nullptr;  // leaked: threads may still be running when the process ends
std::atomic<int> g_loops{0};
std::atomic<bool> g_is_noted{false};
std::atomic<bool> g_is_abandoned{false};
// Children may be the programs to watch.
std::atomic<bool> g_has_forked{false};

bool HasSameErrors(const Summary& summary) {
  struct stat now {};
  return summary.has_errors && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == summary.errors.st_dev &&
         now.st_ino == summary.errors.st_ino;
}

void PrintSummary(const Summary& summary) {
  if (summary.config.is_verbose == 0 || !HasSameErrors(summary)) return;
  const int loops = g_loops.load();
  const bool is_first = summary.config.run_pid == static_cast<uint32_t>(getpid());
  // There is no line for each command that a script runs.
  if (loops == 0 && (!is_first || g_has_forked.load() || HasHandedOn())) return;
  const lw_stats stats = ProcessMonitor::Instance().stats();
  const auto hangs = static_cast<unsigned long long>(stats.hangs);
  const auto unproven = static_cast<unsigned long long>(stats.waits_unproven);
  char more[80] = "";
  if (unproven != 0) {
    std::snprintf(more, sizeof more, "; %llu wait%s may have been idleness", unproven,
                  unproven == 1 ? "" : "s");
  }
  char line[240];
  const int size =
      loops == 0
          ? std::snprintf(line, sizeof line, "lagwatch: watched nothing: no thread waited in a loop\n")
          : std::snprintf(line, sizeof line, "lagwatch: watched %d loop%s in %d thread%s; %llu hang%s%s\n",
                          loops, loops == 1 ? "" : "s", loops, loops == 1 ? "" : "s", hangs,
                          hangs == 1 ? "" : "s", more);
  if (write(STDERR_FILENO, line, static_cast<size_t>(size)) < 0) return;  // stderr has no reader any more
}

}  // namespace

void BeginSummary(const PreloadConfig& config) {
  g_summary = new Summary;
  g_summary->config = config;
  g_summary->begin_ns = base::SystemClock().MonoNs();
  g_summary->has_errors = fstat(STDERR_FILENO, &g_summary->errors) == 0;
  pthread_atfork(
      [] {
        if (!g_has_forked.load()) g_has_forked.store(true);
      },
      nullptr,
      [] {
        g_loops.store(0);
        g_is_noted.store(false);
      });
}

void NoteUnwatched(const char* why) {
  if (g_summary == nullptr || g_is_noted.exchange(true)) return;
  try {
    AddUnwatchedNote(g_summary->config.options.spool_directory, {.wall_ms = base::SystemClock().WallMs(),
                                                                 .pid = static_cast<uint32_t>(getpid()),
                                                                 .app = AppName(g_summary->config),
                                                                 .why = why});
  } catch (const std::exception&) {  // no memory
  }
}

void CountWatchedLoop() { g_loops.fetch_add(1); }

void AbandonSummary() { g_is_abandoned.store(true); }

void ResumeSummary() {
  g_is_abandoned.store(false);
  if (g_summary == nullptr || !g_is_noted.exchange(false)) return;
  try {
    RemoveUnwatchedNote(g_summary->config.options.spool_directory, static_cast<uint32_t>(getpid()));
  } catch (const std::exception&) {  // no memory: the note stays
  }
}

void EndSummary() {
  if (g_summary == nullptr || g_is_abandoned.load() || g_summary->config.is_watched == 0) return;
  const bool is_long = base::SystemClock().MonoNs() - g_summary->begin_ns >= kNotedRunNs;
  if (g_loops.load() == 0 && is_long && !g_has_forked.load() && !HasHandedOn())
    NoteUnwatched("no thread waited in a known loop (epoll_wait, poll, select or similar)");
  PrintSummary(*g_summary);
}

}  // namespace lagwatch::sdk
