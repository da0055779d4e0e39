// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_command.h"

#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "report/config/signed_document.h"
#include "sdk/config_keeper.h"
#include "sdk/preload/environment/preload_config.h"
#include "sdk/run/default_paths.h"
#include "tools/dump/dump_command.h"
#include "tools/run/preload.h"
#include "tools/run/sidecar.h"
#include "tools/run/spool_check.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  sdk::PreloadConfig config;
  std::string dump_signal;
  SidecarOptions sidecar;
  bool is_quiet = false;
  std::vector<std::string> command;
};

int Refuse(const std::string& message) {
  std::cerr << "lagwatch: " << message << "\n";
  return 2;
}

// Takes the config that an earlier run received from the collector. Returns false if it turns watching off.
bool TakeStoredConfig(const report::PublicKey& key, const std::string& app, sdk::PreloadConfig* config) {
  sdk::MonitorOptions options;
  options.app = app;
  options.user = config->user;
  options.spool_directory = config->spool_directory;
  options.watch.threshold_ns = config->threshold_ms * base::kNsPerMs;
  const bool is_wanted = sdk::ApplyStoredConfig(key, &options);
  auto to_ms = [](int64_t ns) { return static_cast<uint32_t>(ns / base::kNsPerMs); };
  config->threshold_ms = to_ms(options.watch.threshold_ns);
  config->anr_threshold_ms = to_ms(options.watch.anr_threshold_ns);
  config->check_period_ms = to_ms(options.watch.check_period_ns);
  config->sample_interval_ms = to_ms(options.watch.sample_interval_ns);
  return is_wanted;
}

int Run(RunOptions options) {
  if (options.command.empty()) return Refuse("run: no program given; try: lagwatch run -- PROGRAM ARGUMENTS");
  auto program = FindWatchableProgram(options.command.front());
  if (!program.ok() && program.status().code() == base::StatusCode::kNotFound) {
    std::cerr << "lagwatch: " << program.status().message() << "\n";
    return 127;  // as a shell says it
  }
  if (!program.ok()) return Refuse(program.status().message());

  sdk::PreloadConfig& config = options.config;
  if (!options.dump_signal.empty()) {
    config.dump_signal = static_cast<uint32_t>(SignalNumber(options.dump_signal));
    if (config.dump_signal == 0) return Refuse("run: '" + options.dump_signal + "' is not a signal");
  }
  // Without the option, each program that is followed has a name of its own.
  const std::string app =
      config.app.empty() ? fs::path(options.command.front()).filename().string() : config.app;
  if (config.spool_directory.empty()) config.spool_directory = sdk::DefaultSpoolDirectory();
  config.spool_directory = fs::absolute(config.spool_directory);

  bool is_watched = true;
  if (!options.sidecar.config_key.empty()) {
    auto key = report::ParsePublicKey(options.sidecar.config_key);
    if (!key.ok()) return Refuse("run: --config-key: " + key.status().message());
    is_watched = TakeStoredConfig(*key, app, &config);
  }
  config.run_pid = static_cast<uint32_t>(getpid());
  auto environment = PreparePreload(config);
  if (!environment.ok()) return Refuse("run: " + environment.status().message());
  if (base::Status spool = CheckCanKeepReports(config.spool_directory);
      is_watched && !spool.ok() && !options.is_quiet) {
    std::cerr << "lagwatch: " << app << " runs unwatched: " << spool.message()
              << " (--quiet hides this line)\n";
  }
  if (!options.sidecar.endpoint.empty()) {
    config.is_sent = 1;
    options.sidecar.spool_directory = config.spool_directory;
    options.sidecar.app = app;
    options.sidecar.app_version = config.app_version;
    options.sidecar.user = config.user;
    base::Status status = StartSidecar(OwnProgram(), options.sidecar);
    if (!status.ok() && !options.is_quiet)
      std::cerr << "lagwatch: reports stay in " << config.spool_directory << ": " << status.message() << "\n";
  }
  if (is_watched) environment->Set();
  return BecomeProgram(*program, std::move(options.command));
}

void AddUploadOptions(CLI::App* run, SidecarOptions* options) {
  run->add_option("--endpoint", options->endpoint, "The collector's URL, or sentry: and a DSN")
      ->envname("LAGWATCH_ENDPOINT");
  run->add_option("--key", options->key, "The collector's project key")->envname("LAGWATCH_KEY");
  run->add_option("--ca-file", options->ca_file,
                  "PEM: trust only a collector with a certificate signed by one of these")
      ->envname("LAGWATCH_CA_FILE");
  run->add_option(
         "--config-key", options->config_key,
         "Take the collector's config, which this key signs: `lagwatch-collector --print-public-key`")
      ->envname("LAGWATCH_CONFIG_KEY");
  run->add_option("--user-rate-ppm", options->user_rate_ppm,
                  "Fraction of users who send reports on a given day, in parts per million")
      ->envname("LAGWATCH_USER_RATE_PPM")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  run->add_option("--reports-per-day", options->reports_per_day, "Reports to send per user and day")
      ->envname("LAGWATCH_REPORTS_PER_DAY")
      ->capture_default_str();
  run->add_option("--reports-per-cause", options->reports_per_cause, "Of these, reports to send per cause")
      ->envname("LAGWATCH_REPORTS_PER_CAUSE")
      ->capture_default_str();
  run->add_option("--slow-reports-per-day", options->slow_reports_per_day,
                  "Reports of slow dispatches to send per user and day")
      ->envname("LAGWATCH_SLOW_REPORTS_PER_DAY")
      ->capture_default_str();
  run->add_option("--traces-per-day", options->traces_per_day, "Traces to send per user and day")
      ->envname("LAGWATCH_TRACES_PER_DAY")
      ->capture_default_str();
}

void AddTraceOptions(CLI::App* run, sdk::PreloadConfig* config) {
  run->add_flag("--trace", config->has_traces,
                "Record the program continuously, and attach a trace to each report")
      ->envname("LAGWATCH_TRACE");
  run->add_flag("--slow-reports", config->reports_slow,
                "Report dispatches over --slow-dispatch-ms, too, with a tree of the calls that took the time")
      ->envname("LAGWATCH_SLOW_REPORTS");
  run->add_option("--slow-dispatch-ms", config->slow_dispatch_ms, "A dispatch longer than this is slow")
      ->envname("LAGWATCH_SLOW_DISPATCH_MS")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str();
  run->add_flag("--trace-hooks", config->traces_hooks,
                "Also capture stacks inside hooked calls (malloc, locks, I/O)")
      ->envname("LAGWATCH_TRACE_HOOKS");
  run->add_option(
         "--trace-patch", config->traces_patched_modules,
         "Record the calls of functions built with -fpatchable-function-entry, too, in these modules: file "
         "names or patterns, separated by commas")
      ->envname("LAGWATCH_TRACE_PATCH");
  struct Number {
    const char* flag;
    const char* variable;
    uint32_t* value;
    uint32_t least;
    uint32_t most;
    const char* meaning;
  };
  const Number numbers[] = {{"--trace-interval-ms", "LAGWATCH_TRACE_INTERVAL_MS", &config->traces_interval_ms,
                             1, 100, "Time between two samples of a thread"},
                            {"--trace-before-s", "LAGWATCH_TRACE_BEFORE_S", &config->traces_before_s, 0, 600,
                             "Length of a trace before the hang"},
                            {"--trace-slow-ms", "LAGWATCH_TRACE_SLOW_MS", &config->traces_slow_ms, 0, 3600000,
                             "Dispatches longer than this get a trace even if they are no hangs; 0: off"},
                            {"--trace-buffer-kib", "LAGWATCH_TRACE_BUFFER_KIB", &config->traces_buffer_kib,
                             1024, 262144, "Memory for the recording"},
                            {"--trace-max-kib", "LAGWATCH_TRACE_MAX_KIB", &config->traces_max_kib, 4, 900,
                             "A larger trace is shortened"}};
  for (const Number& number : numbers) {
    run->add_option(number.flag, *number.value, number.meaning)
        ->envname(number.variable)
        ->check(CLI::Range(number.least, number.most))
        ->capture_default_str();
  }
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app->add_subcommand("run", "Run a program under a watchdog, without changing it");
  run->footer(
      "The time from the return of one wait (epoll_wait, poll, select and similar calls) to the next wait\n"
      "is one dispatch; a dispatch longer than the threshold is reported. Reports are in the spool "
      "directory\n"
      "at once; with an endpoint, a helper process sends them to the collector.\n\n"
      "  lagwatch run -- redis-server --port 6380\n"
      "  lagwatch clusters");
  sdk::PreloadConfig& config = options->config;
  AddUploadOptions(run, &options->sidecar);
  AddTraceOptions(run, &config);
  run->add_option("--app", config.app, "The program's name in reports (default: its file name)")
      ->envname("LAGWATCH_APP");
  run->add_option("--app-version", config.app_version, "Its version")->envname("LAGWATCH_APP_VERSION");
  run->add_option("--user", config.user, "The affected user, as a pseudonym")->envname("LAGWATCH_USER");
  run->add_option("--threshold-ms", config.threshold_ms, "A dispatch longer than this is a hang")
      ->envname("LAGWATCH_THRESHOLD_MS")
      ->check(CLI::Range(16, 3600000))
      ->capture_default_str();
  run->add_option("--spool", config.spool_directory,
                  "The spool directory, where reports wait (default: " + sdk::DefaultSpoolDirectory() + ")")
      ->envname("LAGWATCH_SPOOL");
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
  run->add_option(
         "--expensive", config.expensive,
         "The sample that represents a busy loop: path (the newest on the heaviest path from the outermost "
         "call inwards) or leaf (of the innermost function seen most often)")
      ->envname("LAGWATCH_EXPENSIVE")
      ->check(CLI::IsMember({"path", "leaf"}))
      ->capture_default_str();
  run->add_flag("--quiet", options->is_quiet, "Print no message if the program cannot be watched")
      ->envname("LAGWATCH_QUIET");
  run->add_flag("--verbose", config.is_verbose,
                "At the program's end, print the numbers of watched loops and of hangs on stderr")
      ->envname("LAGWATCH_VERBOSE");
  run->add_flag(
         "--seccomp-allows-lagwatch", config.seccomp_is_allowed,
         "The program's seccomp filters allow lagwatch's system calls: continue when it confines itself")
      ->envname("LAGWATCH_SECCOMP_ALLOWS_LAGWATCH");
  run->add_option("--dump-signal", options->dump_signal,
                  "A signal (such as USR2) that requests a dump; see `lagwatch dump`")
      ->envname("LAGWATCH_DUMP_SIGNAL");
  run->add_option("command", options->command, "The program and its arguments, after --")->required();
  run->positionals_at_end();
  run->callback([options, exit_code] { *exit_code = Run(*options); });
}

}  // namespace lagwatch::tools
