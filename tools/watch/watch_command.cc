// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/watched_process.h"
#include "base/text.h"
#include "sdk/monitor.h"
#include "sdk/outside/outside_watch.h"
#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/process_files.h"
#include "tools/run/checks.h"
#include "tools/run/preload.h"
#include "tools/run/sidecar.h"
#include "tools/run/watch_flags.h"
#include "tools/watch/targets.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct WatchCommand : WatchFlags {
  TargetChoice choice;
  std::string threads = "auto";
  uint32_t interval_ms = 100;
  uint32_t most_processes = 64;
  bool takes_probable = false;
  bool is_quiet = false;
};

constexpr int kUsage = 2;

int RefuseWatch(const std::string& message) {
  std::cerr << "lagwatch: watch: " << message << "\n";
  return kUsage;
}

volatile sig_atomic_t g_is_asked_to_end = 0;

void AskToEnd(int) { g_is_asked_to_end = 1; }

void SleepNs(int64_t ns) {
  const timespec time{.tv_sec = ns / base::kNsPerSecond, .tv_nsec = ns % base::kNsPerSecond};
  nanosleep(&time, nullptr);
}

// Exit codes of a process that watches another one.
enum WatcherExit : int { kWatcherEnded = 0, kWatcherBecameOther = 3, kWatcherCannot = 4 };

// In a process of its own: a fault that one target brings about harms no other's watcher.
[[noreturn]] void BecomeWatcher(const Target& target, pid_t parent, const WatchCommand& command) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kWatcherEnded);  // it has ended before it could say so
  const std::string label = target.name + " (" + std::to_string(target.pid) + ")";
  base::WatchFromOutside(target.pid);
  const sdk::OutsideOptions outside{.interval_ns = command.interval_ms * base::kNsPerMs,
                                    .threads = command.threads,
                                    .takes_probable = command.takes_probable};
  sdk::MonitorOptions monitor = sdk::ToMonitorOptions(command.options);
  if (monitor.app.empty()) monitor.app = target.name;
  monitor.is_sent = !command.options.endpoint.empty();
  auto watch = sdk::OutsideWatch::Start(monitor, outside);
  if (!watch.ok()) {
    std::cerr << "lagwatch: " << label << " is not watched: " << watch.status().message() << "\n";
    _exit(kWatcherCannot);
  }
  bool goes_on = true;
  int64_t next_ns = base::SystemClock().MonoNs();
  while (g_is_asked_to_end == 0 && (goes_on = (*watch)->Poll())) {
    next_ns = std::max(next_ns + outside.interval_ns, base::SystemClock().MonoNs());
    SleepNs(next_ns - base::SystemClock().MonoNs());
  }
  std::error_code error;
  const bool is_there = !fs::read_symlink(ProcessFolder(target.pid) / "exe", error).empty();
  watch->reset();
  _exit(!goes_on && is_there ? kWatcherBecameOther : kWatcherEnded);
}

class Watchers {
 public:
  explicit Watchers(const WatchCommand& command) : command_(command) {}

  size_t running_count() const {
    return static_cast<size_t>(
        std::ranges::count_if(watched_, [](const Watched& watched) { return watched.watcher != 0; }));
  }
  bool has_failed() const { return has_failed_; }

  void Add(const Target& target) {
    const bool is_known = std::ranges::any_of(
        watched_, [&](const Watched& watched) { return watched.target.IsSameAs(target); });
    if (is_known) return;
    if (HasWatchdog(target.pid)) {
      Say(target, "has a watchdog of its own");
      watched_.push_back({target, 0});
      return;
    }
    if (running_count() >= command_.most_processes) {
      if (!std::exchange(has_said_full_, true))
        std::cerr << "lagwatch: more than " << command_.most_processes
                  << " processes: see --most-processes\n";
      return;
    }
    Start(target);
  }

  // Takes notice of those that have ended.
  void Reap() {
    int status = 0;
    for (pid_t watcher; (watcher = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = std::ranges::find(watched_, watcher, &Watched::watcher);
      if (found == watched_.end()) continue;
      const Target target = found->target;
      found->watcher = 0;
      const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : kWatcherCannot;
      has_failed_ |= exit == kWatcherCannot;
      if (exit == kWatcherCannot) continue;
      watched_.erase(found);
      if (exit == kWatcherBecameOther) Add(target);
    }
  }

  void EndAll() {
    for (const Watched& watched : watched_)
      if (watched.watcher != 0) kill(watched.watcher, SIGTERM);
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }

 private:
  struct Watched {
    Target target;
    pid_t watcher;  // 0: none, and there will be none
  };

  void Say(const Target& target, const char* text) const {
    if (!command_.is_quiet)
      std::cerr << "lagwatch: " << target.name << " (" << target.pid << ") " << text << "\n";
  }

  void Start(const Target& target) {
    const pid_t parent = getpid();
    const pid_t watcher = fork();
    if (watcher == 0) BecomeWatcher(target, parent, command_);
    if (watcher < 0) return Say(target, "is not watched: no process could be started");
    watched_.push_back({target, watcher});
    Say(target, "is watched from outside");
  }

  const WatchCommand& command_;
  std::vector<Watched> watched_;
  bool has_failed_ = false;
  bool has_said_full_ = false;
};

int Watch(WatchCommand command) {
  Options& options = command.options;
  if (command.choice.words.empty() && !command.choice.is_mine)
    return RefuseWatch("say what to watch: a process id, a program's name, a unit, or --mine");
  if (base::Status status = command.ApplyNames(); !status.ok()) return RefuseWatch(status.message());
  if (options.spool_directory.empty()) options.spool_directory = sdk::DefaultSpoolDirectory();
  options.spool_directory = fs::absolute(options.spool_directory);
  if (base::Status spool = CheckCanKeepReports(options.spool_directory); !spool.ok())
    return RefuseWatch(spool.message());
  if (command.choice.IsOfIdsAlone()) {
    for (const std::string& word : command.choice.words)
      if (base::Status status = CheckTarget(*base::ParseNumber<pid_t>(word)); !status.ok())
        return RefuseWatch(status.message());
  }
  if (!options.endpoint.empty()) {
    if (base::Status status = StartSidecar(OwnProgram(), options, getpid());
        !status.ok() && !command.is_quiet)
      std::cerr << "lagwatch: reports stay in " << options.spool_directory << ": " << status.message()
                << "\n";
  }
  struct sigaction action {};
  action.sa_handler = &AskToEnd;
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal_number, &action, nullptr);

  constexpr int64_t kSearchIntervalNs = 1 * base::kNsPerSecond;
  const bool is_of_ids = command.choice.IsOfIdsAlone();
  Watchers watchers(command);
  bool has_found = false;
  while (g_is_asked_to_end == 0) {
    if (!is_of_ids || !has_found) {
      const std::vector<Target> targets = FindTargets(command.choice);
      if (targets.empty() && !has_found && !command.is_quiet)
        std::cerr << "lagwatch: nothing of that name runs yet; waiting for it (Ctrl-C ends this)\n";
      has_found = true;
      for (const Target& target : targets) watchers.Add(target);
    }
    watchers.Reap();
    if (is_of_ids && watchers.running_count() == 0) break;
    SleepNs(kSearchIntervalNs);
  }
  watchers.EndAll();
  return watchers.has_failed() && is_of_ids ? 1 : 0;
}

}  // namespace

void AddWatchCommand(CLI::App* app, int* exit_code) {
  auto command = std::make_shared<WatchCommand>();
  CLI::App* watch = app->add_subcommand("watch", "Watch running programs from outside; nothing is injected");
  watch->footer(
      "Looks at the programs' threads ten times a second: a loop that is not back in its wait for longer "
      "than\n"
      "the threshold is reported, if it is certain that it was not there in between.\n\n"
      "  lagwatch watch 4711\n"
      "  lagwatch watch redis-server nginx.service\n"
      "  lagwatch watch --mine");
  AddWatchFlags(watch, command.get());
  watch->add_option(
      "targets", command->choice.words,
      "What to watch: process ids, names of programs, units of systemd; names and units also when "
      "they are started later");
  watch->add_flag("--mine", command->choice.is_mine, "Watch all programs of this user");
  watch
      ->add_option("--threads", command->threads,
                   "Threads whose loops to watch: auto (the main thread, or other threads while it has no "
                   "loop), main, all, or a thread's name")
      ->capture_default_str();
  watch->add_option("--interval-ms", command->interval_ms, "Time between two looks at a thread")
      ->check(CLI::Range(10, 1000))
      ->capture_default_str();
  watch->add_option("--most-processes", command->most_processes, "No more processes than these are watched")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  watch->add_flag("--probable", command->takes_probable,
                  "Report also where it is not certain that the loop was not back in its wait");
  watch->add_flag("--quiet", command->is_quiet, "Print errors only");
  watch->callback([command, exit_code] { *exit_code = Watch(*command); });
}

}  // namespace lagwatch::tools
