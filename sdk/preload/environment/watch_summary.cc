// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/watch_summary.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "base/clock.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/preload_environment.h"
#include "sdk/preload/environment/unwatched_notes.h"
#include "sdk/preload/environment/unwatched_threads.h"
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
  std::string threads;  // those without a loop, at the end
};
Summary* g_summary = nullptr;  // leaked: threads may still be running when the process ends
std::atomic<int> g_loops{0};
constexpr size_t kMostKnown = 64;
std::atomic<int32_t> g_watched[kMostKnown];  // the threads of the first loops; 0: none
std::atomic<bool> g_is_noted{false};
std::atomic<bool> g_is_abandoned{false};
// Children may be the programs to watch.
std::atomic<bool> g_has_forked{false};

bool HasRunLong() { return base::SystemClock().MonoNs() - g_summary->begin_ns >= kNotedRunNs; }

bool HasSameErrors(const Summary& summary) {
  struct stat now {};
  return summary.has_errors && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == summary.errors.st_dev &&
         now.st_ino == summary.errors.st_ino;
}

constexpr char kWhyNoLoop[] =
    "no thread waited in a known loop (epoll_wait, poll, select or similar, or one wait again and again)";

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
  const std::string& threads = summary.threads;
  const char* before = threads.empty() ? "" : "; ";
  char line[640];
  const int size =
      loops == 0
          ? std::snprintf(line, sizeof line, "lagwatch: watched nothing: no thread waited in a loop%s%s\n",
                          before, threads.c_str())
          : std::snprintf(line, sizeof line,
                          "lagwatch: watched %d loop%s in %d thread%s; %llu hang%s%s%s%s\n", loops,
                          loops == 1 ? "" : "s", loops, loops == 1 ? "" : "s", hangs, hangs == 1 ? "" : "s",
                          more, before, threads.c_str());
  const size_t line_bytes = std::min<size_t>(size, sizeof line - 1);
  if (write(STDERR_FILENO, line, line_bytes) < 0) return;  // stderr has no reader any more
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
        for (auto& tid : g_watched) tid.store(0);
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

void CountWatchedLoop() {
  const auto number = static_cast<size_t>(g_loops.fetch_add(1));
  if (number < kMostKnown) g_watched[number].store(gettid());
}

void AbandonSummary() { g_is_abandoned.store(true); }

void ResumeSummary() {
  g_is_abandoned.store(false);
  if (g_summary == nullptr || !g_is_noted.exchange(false)) return;
  try {
    RemoveUnwatchedNote(g_summary->config.options.spool_directory, static_cast<uint32_t>(getpid()));
  } catch (const std::exception&) {  // no memory: the note stays
  }
}

void NoteThreadsAtEnd() {
  if (g_summary == nullptr || g_is_abandoned.load() || g_summary->config.is_watched == 0) return;
  if (g_summary->config.is_verbose == 0 && !HasRunLong())
    return;  // the list costs as much as a short command
  try {
    std::array<int32_t, kMostKnown> watched;
    std::ranges::transform(g_watched, watched.begin(), [](const auto& tid) { return tid.load(); });
    g_summary->threads = DescribeUnwatchedThreads(g_summary->config.threads, watched);
  } catch (const std::exception&) {  // no memory
  }
}

void EndSummary() {
  if (g_summary == nullptr || g_is_abandoned.load() || g_summary->config.is_watched == 0) return;
  const bool is_long = HasRunLong();
  const std::string& threads = g_summary->threads;
  try {
    if (g_loops.load() == 0 && is_long && !g_has_forked.load() && !HasHandedOn()) {
      NoteUnwatched((std::string(kWhyNoLoop) + (threads.empty() ? "" : "; ") + threads).c_str());
    } else if (g_loops.load() != 0 && is_long) {
      if (!threads.empty()) NoteUnwatched(threads.c_str());
    }
    PrintSummary(*g_summary);
  } catch (const std::exception&) {  // no memory
  }
}

}  // namespace lagwatch::sdk
