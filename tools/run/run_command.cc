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
#include "sdk/preload/environment/preload_config.h"
#include "sdk/probe/probe_messages.h"
#include "sdk/run/default_paths.h"
#include "sdk/run/run_end.h"
#include "tools/commands.h"
#include "tools/run/checks.h"
#include "tools/run/java.h"
#include "tools/run/preload.h"
#include "tools/run/sidecar.h"
#include "tools/run/watch_flags.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct RunOptions : WatchFlags {
  sdk::PreloadConfig config;
  bool is_quiet = false;
  std::string probe;  // a script
  FleetFlags fleet;
  std::vector<std::string> command;
};

int Refuse(const std::string& message) {
  std::cerr << "lagwatch: " << message << "\n";
  return 2;
}

sdk::PreloadConfig ConfigFor(const RunOptions& run) {
  sdk::PreloadConfig config = run.config;
  config.options = run.OptionsOfProgram();
  config.is_sent = run.options.endpoint.empty() ? 0 : 1;
  config.run_pid = static_cast<uint32_t>(getpid());
  if (!run.probe.empty()) {
    constexpr uint32_t kProbeWaitMs = 10'000;
    config.probe_wait_ms = kProbeWaitMs;
    config.probe_pid = config.run_pid;
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    config.probe_directory = sdk::ProbeDirectory(runtime == nullptr ? "" : runtime, geteuid());
  }
  return config;
}

// Prepares the environment in which the program loads the part of lagwatch that watches it.
base::Status SetEnvironment(const std::string& program, const RunOptions& run) {
  const sdk::PreloadConfig config = ConfigFor(run);
  if (IsJava(program)) {
    auto options =
        JavaToolOptions(config.options, {.with_children = run.config.children == "all",
                                         .is_watched = run.config.is_watched != 0,
                                         .forbids_probes = run.config.is_probing_forbidden != 0,
                                         .probe_directory = run.probe.empty() ? "" : config.probe_directory});
    if (!options.ok()) return options.status();
    setenv(kJavaOptionsVariable, options->c_str(), 1);
    if (!run.is_quiet) {
      std::cerr << "lagwatch: java loads lagwatch's agent, by " << kJavaOptionsVariable
                << " (--quiet hides this line)\n";
    }
    return {};
  }
  auto environment = PreparePreload(config);
  if (environment.ok()) environment->Set();
  return environment.status();
}

int Run(RunOptions run, const TakeStoredConfig& take_stored_config) {
  if (!run.probe.empty() && run.config.is_probing_forbidden != 0)
    return Refuse("run: give --probe or --no-probes, not both");
  if (run.command.empty()) return Refuse("run: no program given; try: lagwatch run -- PROGRAM ARGUMENTS");
  auto program = FindWatchableProgram(run.command.front());
  if (!program.ok() && program.status().code() == base::StatusCode::kNotFound) {
    std::cerr << "lagwatch: " << program.status().message() << "\n";
    return 127;  // as a shell says it
  }
  if (!program.ok()) return Refuse(program.status().message());

  Options& options = run.options;
  if (base::Status status = run.ApplyNames(); !status.ok()) return Refuse("run: " + status.message());
  if (base::Status status = run.fleet.Check(options); !status.ok()) return Refuse("run: " + status.message());
  // Without the option, each program that is followed has a name of its own.
  const std::string app =
      options.app.empty() ? fs::path(run.command.front()).filename().string() : options.app;
  if (options.spool_directory.empty()) options.spool_directory = sdk::DefaultSpoolDirectory();
  options.spool_directory = fs::absolute(options.spool_directory);

  bool is_watched = true;
  if (!options.upload.config_key.empty()) {
    const auto is_wanted = take_stored_config(app, &options);
    if (!is_wanted.ok()) return Refuse("run: --config-key: " + is_wanted.status().message());
    is_watched = *is_wanted;
  }
  if (base::Status spool = CheckCanKeepReports(options.spool_directory);
      is_watched && !spool.ok() && !run.is_quiet) {
    std::cerr << "lagwatch: " << app << " runs unwatched: " << spool.message()
              << " (--quiet hides this line)\n";
  }
  run.config.is_watched = is_watched ? 1 : 0;
  const bool is_loaded = is_watched || run.config.is_probing_forbidden != 0 || !run.probe.empty();
  if (base::Status status = is_loaded ? SetEnvironment(*program, run) : base::Status(); !status.ok())
    return Refuse("run: " + status.message());
  sdk::NoteKeptCrashes(options.spool_directory);  // the program's start reports how its last run ended
  if (!options.endpoint.empty()) {
    options.app = app;
    if (base::Status status = run.fleet.CheckList(); !status.ok() && !run.is_quiet)
      std::cerr << "lagwatch: " << status.message() << "\n";
    base::Status status = StartSidecar(options, getpid(), run.fleet);
    if (!status.ok() && !run.is_quiet)
      std::cerr << "lagwatch: reports stay in " << options.spool_directory << ": " << status.message()
                << "\n";
  }
  const HangLog log{.to = is_watched ? run.log : "",
                    .spool_directory = options.spool_directory,
                    .pid = static_cast<uint32_t>(getpid()),
                    .since_wall_ms = base::SystemClock().WallMs(),
                    .has_children = run.config.children != "none"};
  if (base::Status status = StartHangLog(log, getpid()); !status.ok() && !run.is_quiet)
    std::cerr << "lagwatch: hangs are not logged: " << status.message() << "\n";
  if (base::Status status = StartProbeConsole(run.probe, getpid()); !status.ok())
    return Refuse("run: --probe: " + status.message());
  if (run.config.soft_watchdog != 0 && !run.is_quiet && std::getenv("WATCHDOG_USEC") == nullptr) {
    std::cerr << "lagwatch: --soft-watchdog has nothing to do: systemd has set no WATCHDOG_USEC (see "
                 "WatchdogSec= in "
                 "systemd.service(5))\n";
  }
  return BecomeProgram(*program, std::move(run.command));
}

// `options` must outlive parsing.
void AddOptions(CLI::App* run, RunOptions* options) {
  sdk::PreloadConfig& config = options->config;
  AddWatchFlags(run, options);
  run->add_option("--threads", config.threads,
                  "Threads whose loops to watch: auto (the main thread, or other threads while it has no "
                  "loop), main, all, or a thread's name")
      ->envname("LAGWATCH_THREADS")
      ->capture_default_str();
  run->add_option("--children", config.children,
                  "Programs to watch besides the first: none; exec: programs that a watched process starts "
                  "by exec, and children of processes without a loop (sh, env, timeout, wrapper scripts); "
                  "all: every child process")
      ->envname("LAGWATCH_CHILDREN")
      ->check(CLI::IsMember({"none", "exec", "all"}))
      ->capture_default_str();
  AddSoftWatchdogFlag(run, &config);
  run->add_option(
      "--probe", options->probe,
      "Probe the program from its start by this script, as `lagwatch probe` does; what it prints goes to "
      "stderr");
  AddFleetFlags(run, &options->fleet);
  run->add_flag("--no-probes", config.is_probing_forbidden,
                "Refuse probes (`lagwatch probe`) in the program, for good")
      ->envname("LAGWATCH_NO_PROBES");
  run->add_flag("--quiet", options->is_quiet, "Print no message if the program cannot be watched")
      ->envname("LAGWATCH_QUIET");
  run->add_flag("--verbose", config.is_verbose,
                "At the program's end, print the numbers of watched loops and of hangs on stderr")
      ->envname("LAGWATCH_VERBOSE");
  run->add_option("command", options->command, "The program and its arguments, after --");
  run->positionals_at_end();
}

}  // namespace

base::Status CheckRunOptions(std::vector<std::string> options) {
  CLI::App run;
  RunOptions values;
  AddOptions(&run, &values);
  options.insert(options.end(), {"--", "program"});
  std::ranges::reverse(options);  // as CLI11 takes them
  try {
    run.parse(std::move(options));
  } catch (const CLI::ParseError& error) {
    return {base::StatusCode::kInvalid, std::string("lagwatch run: ") + error.what()};
  }
  if (values.command.size() > 1)
    return {base::StatusCode::kInvalid,
            "'" + values.command.front() + "' is not an option of `lagwatch run`"};
  return values.ApplyNames();
}

void AddRunCommand(CLI::App* app, const TakeStoredConfig& take_stored_config, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app->add_subcommand("run", "Run a program under a watchdog, without changing it");
  run->footer(
      "The time from the return of one wait (epoll_wait, poll, select and similar calls) to the next wait\n"
      "is one dispatch; a dispatch longer than the threshold is reported. Reports are in the spool "
      "directory\n"
      "at once; with an endpoint, a helper process sends them to the collector.\n\n"
      "  lagwatch run -- redis-server --port 6380\n"
      "  lagwatch clusters");
  AddOptions(run, options.get());
  run->callback([=] { *exit_code = Run(*options, take_stored_config); });
}

}  // namespace lagwatch::tools
