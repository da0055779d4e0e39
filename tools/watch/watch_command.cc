// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/shared_memory.h"
#include "base/text.h"
#include "sdk/outside/unanswered_windows.h"
#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/read/table.h"
#include "tools/run/checks.h"
#include "tools/run/preload.h"
#include "tools/run/sidecar.h"
#include "tools/run/watch_flags.h"
#include "tools/watch/compositor_service.h"
#include "tools/watch/targets.h"
#include "tools/watch/watchers.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct WatchCommand : WatchFlags {
  TargetChoice choice;
  WatchSettings settings;
  uint32_t most_processes = 64;
  bool asks_kernel = false;
  std::string container;
  bool is_quiet = false;

  // To be called while it has ended: it may be started again. Looks now and then, and says so once.
  void FindContainerAgain() {
    constexpr int kSearchesUntilLook = 5;
    if (searches_++ == 0 && !is_quiet)
      std::cerr << "lagwatch: the container '" << Printable(container)
                << "' has ended; waiting until it is started again (Ctrl-C ends this)\n";
    if (searches_ % kSearchesUntilLook != 0) return;
    auto found = Container::Find(container);
    if (!found.ok()) return;
    choice.container = *std::move(found);
    searches_ = 0;
  }

 private:
  int searches_ = 0;
};

constexpr int kUsage = 2;

int RefuseWatch(const std::string& message) {
  std::cerr << "lagwatch: watch: " << Printable(message) << "\n";
  return kUsage;
}

// Has compositors say what windows of Wayland do not answer. Null where none can.
std::unique_ptr<CompositorService> HearCompositors(Watchers* watchers, bool is_quiet) {
  const auto unanswered = base::MakeForkShared<sdk::UnansweredWindows>();
  if (unanswered == nullptr) return nullptr;
  auto service = CompositorService::Start(unanswered);
  const bool matters = std::getenv("WAYLAND_DISPLAY") != nullptr && !is_quiet;
  if (!service.ok() && matters)
    std::cerr << "lagwatch: no compositor can say that a window does not answer: "
              << service.status().message() << "\n";
  if (!service.ok()) return nullptr;
  if (matters && !(*service)->has_name())
    std::cerr << "lagwatch: another lagwatch hears what compositors say, until it ends\n";
  watchers->SetUnansweredWindows(unanswered);
  return std::move(*service);
}

// Finds those that are there now.
void Search(WatchCommand* command, const std::shared_ptr<const WatchSettings>& settings, bool has_searched,
            Watchers* watchers) {
  const auto is_known = [&](pid_t pid) { return watchers->IsWatched(pid); };
  const std::vector<Target> targets = FindTargets(command->choice, is_known);
  const bool is_alone = targets.empty() && watchers->targets().empty();
  if (is_alone && !has_searched && !command->is_quiet)
    std::cerr << "lagwatch: nothing of that name runs yet; waiting for it (Ctrl-C ends this)\n";
  if (is_alone && command->choice.container && command->choice.container->TakeEnd())
    command->FindContainerAgain();
  for (const Target& target : targets) watchers->Add(target, settings);
}

void StartLog(const WatchCommand& command, Watchers* watchers) {
  if (command.log.empty()) return;
  auto log = StartHangLogOfMany({.to = command.log,
                                 .spool_directory = command.options.spool_directory,
                                 .since_wall_ms = base::SystemClock().WallMs()});
  if (log.ok()) return watchers->SetLog(std::move(log).value());
  std::cerr << "lagwatch: hangs are not logged: " << Printable(log.status().message()) << "\n";
}

int RunWatch(WatchCommand command) {
  Options& options = command.options;
  if (command.choice.words.empty() && !command.choice.is_mine && command.container.empty())
    return RefuseWatch("say what to watch: a process id, a program's name, a unit, --container or --mine");
  if (!command.container.empty()) {
    auto container = Container::Find(command.container);
    if (!container.ok()) return RefuseWatch(container.status().message());
    command.choice.container = *std::move(container);
  }
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
    if (base::Status status = StartSidecar(options, getpid()); !status.ok() && !command.is_quiet)
      std::cerr << "lagwatch: reports stay in " << options.spool_directory << ": " << status.message()
                << "\n";
  }
  HandleWatchSignals(/*can_reload=*/false);

  const bool is_of_ids = command.choice.IsOfIdsAlone();
  command.settings.options = options;
  command.settings.is_chosen = !command.choice.is_mine;
  if (command.choice.is_mine) UseManyDescriptors();
  const auto settings = std::make_shared<const WatchSettings>(command.settings);
  Watchers watchers(command.choice.is_mine ? WatchStart::kWhenInDoubt : WatchStart::kAtOnce,
                    command.most_processes, command.is_quiet);
  StartLog(command, &watchers);
  if (command.asks_kernel) {
    if (base::Status status = watchers.AskKernel(); !status.ok())
      std::cerr << "lagwatch: loops are only looked at, without --bpf: " << status.message() << "\n";
  }
  watchers.SayHowReturnsAreCounted();
  const std::unique_ptr<CompositorService> compositors = HearCompositors(&watchers, command.is_quiet);
  bool has_searched = false;
  bool is_due = true;
  Regularly search(1 * base::kNsPerSecond);
  while (!IsAskedToEnd()) {
    if (search.IsDue()) {
      if (is_due) Search(&command, settings, std::exchange(has_searched, true), &watchers);
      is_due = watchers.Reap() || !is_of_ids;
      if (!is_due && watchers.running_count() == 0) break;
    }
    const int64_t look_ns = watchers.LookNs();
    const int64_t pause_ns = std::min(look_ns, search.UntilDueNs());
    if (compositors != nullptr) {
      compositors->ServeFor(pause_ns);
    } else {
      SleepNs(pause_ns);
    }
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
      "  lagwatch watch --container web\n"
      "  lagwatch watch --mine");
  AddWatchFlags(watch, command.get());
  watch->add_option(
      "PID|NAME|UNIT", command->choice.words,
      "What to watch: process ids, names of programs, units of systemd; names and units also when "
      "they are started later");
  watch->add_option("--container", command->container,
                    "Watch programs of this container: its id, its name, or its host name");
  watch->add_flag("--mine", command->choice.is_mine, "Watch all programs of this user");
  watch
      ->add_option("--threads", command->settings.threads,
                   "Threads whose loops to watch: auto (the main thread, or other threads while it has no "
                   "loop), main, all, or a thread's name")
      ->capture_default_str();
  watch
      ->add_option("--interval-ms", command->settings.interval_ms,
                   "Time between two looks at a thread; no longer than a fifth of the threshold")
      ->check(CLI::Range(10, 1000))
      ->capture_default_str();
  watch->add_option("--most-processes", command->most_processes, "No more processes than these are watched")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  watch->add_flag("--probable", command->settings.takes_probable,
                  "Report also where it is not certain that the loop was not back in its wait");
  watch->add_flag(
      "--bpf", command->asks_kernel,
      "Have the kernel record when a loop enters and leaves its wait: exact for short dispatches, "
      "too. Meanwhile each system call of the whole machine takes some 50 ns longer. Needs root");
  watch->add_flag("--quiet", command->is_quiet, "Print errors only");
  watch->callback([command, exit_code] { *exit_code = RunWatch(*command); });
}

}  // namespace lagwatch::tools
