// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_command.h"

#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "report/config/signed_document.h"
#include "sdk/config_keeper.h"
#include "sdk/default_paths.h"
#include "sdk/preload/preload_config.h"
#include "tools/dump/dump_command.h"
#include "tools/run/sidecar.h"
#include "tools/run/target_check.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  sdk::PreloadConfig config;
  std::string dump_signal;
  SidecarOptions sidecar;
  std::vector<std::string> command;
};

int Refuse(const std::string& message) {
  std::cerr << "lagwatch: " << message << "\n";
  return 2;
}

fs::path OwnProgram() { return fs::read_symlink("/proc/self/exe"); }

// Beside this program, as built or as installed; empty when it is in neither place.
fs::path FindPreloadLibrary() {
  fs::path prefix = OwnProgram().parent_path().parent_path();
  for (const char* place :
       {"lib/liblagwatch-preload.so", LAGWATCH_INSTALL_LIBDIR "/lagwatch/liblagwatch-preload.so"}) {
    if (fs::exists(prefix / place)) return prefix / place;
  }
  return {};
}

bool HasLineEnd(const sdk::PreloadConfig& config) {
  for (const std::string* text : {&config.app, &config.app_version, &config.user, &config.spool_directory,
                                  &config.threads, &config.previous_preload}) {
    if (text->find('\n') != std::string::npos) return true;
  }
  return false;
}

void SetEnvironment(const sdk::PreloadConfig& config, const fs::path& library) {
  std::string preload = library.string();
  if (config.had_preload && !config.previous_preload.empty()) preload += ":" + config.previous_preload;
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(sdk::kPreloadConfigVariable, config.ToText().c_str(), 1);
}

// What the collector told an earlier run. False when it wants nothing watched.
bool TakeStoredConfig(const report::PublicKey& key, sdk::PreloadConfig* config) {
  sdk::MonitorOptions options;
  options.app = config->app;
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
  auto program = FindProgram(options.command.front());
  if (!program.ok()) {
    std::cerr << "lagwatch: " << program.status().message() << "\n";
    return 127;  // as a shell says it
  }
  if (base::Status status = CheckCanPreload(*program); !status.ok()) return Refuse(status.message());
  fs::path library = FindPreloadLibrary();
  if (library.empty())
    return Refuse("liblagwatch-preload.so is not beside this program: install lagwatch again");

  sdk::PreloadConfig& config = options.config;
  if (!options.dump_signal.empty()) {
    config.dump_signal = static_cast<uint32_t>(SignalNumber(options.dump_signal));
    if (config.dump_signal == 0) return Refuse("run: '" + options.dump_signal + "' is no signal");
  }
  if (config.app.empty()) config.app = fs::path(options.command.front()).filename();
  if (config.spool_directory.empty()) config.spool_directory = sdk::DefaultSpoolDirectory();
  config.spool_directory = fs::absolute(config.spool_directory);
  if (const char* previous = std::getenv("LD_PRELOAD")) {
    config.had_preload = true;
    config.previous_preload = previous;
  }
  if (HasLineEnd(config)) return Refuse("run: no option may hold a line end");

  bool is_watched = true;
  if (!options.sidecar.config_key.empty()) {
    auto key = report::ParsePublicKey(options.sidecar.config_key);
    if (!key.ok()) return Refuse("run: --config-key: " + key.status().message());
    is_watched = TakeStoredConfig(*key, &config);
  }
  if (!options.sidecar.endpoint.empty()) {
    config.is_sent = 1;
    options.sidecar.spool_directory = config.spool_directory;
    options.sidecar.app = config.app;
    options.sidecar.app_version = config.app_version;
    options.sidecar.user = config.user;
    base::Status status = StartSidecar(OwnProgram(), options.sidecar);
    if (!status.ok())
      std::cerr << "lagwatch: reports stay in " << config.spool_directory << ": " << status.message() << "\n";
  }
  if (is_watched) SetEnvironment(config, library);
  std::vector<char*> arguments;
  for (std::string& argument : options.command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(program->c_str(), arguments.data());
  std::cerr << "lagwatch: cannot run " << *program << ": " << std::strerror(errno) << "\n";
  return 126;  // as a shell says it
}

void AddUploadOptions(CLI::App* run, SidecarOptions* options) {
  run->add_option("--endpoint", options->endpoint, "The collector's URL, or sentry: and a DSN")
      ->envname("LAGWATCH_ENDPOINT");
  run->add_option("--key", options->key, "The collector's project key")->envname("LAGWATCH_KEY");
  run->add_option("--ca-file", options->ca_file, "PEM: trust only a collector that one of these certifies")
      ->envname("LAGWATCH_CA_FILE");
  run->add_option(
         "--config-key", options->config_key,
         "Take the collector's config, which this key signs: `lagwatch-collector --print-public-key`")
      ->envname("LAGWATCH_CONFIG_KEY");
  run->add_option("--user-rate-ppm", options->user_rate_ppm,
                  "Send the reports of so many in a million users a day")
      ->envname("LAGWATCH_USER_RATE_PPM")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  run->add_option("--reports-per-day", options->reports_per_day, "Send so many reports of a user a day")
      ->envname("LAGWATCH_REPORTS_PER_DAY")
      ->capture_default_str();
  run->add_option("--reports-per-cause", options->reports_per_cause, "Of these, so many of one cause")
      ->envname("LAGWATCH_REPORTS_PER_CAUSE")
      ->capture_default_str();
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app->add_subcommand("run", "Run a program, watched, without changing it");
  run->footer(
      "From one wait's return (epoll_wait, poll, select and their like) to the next wait's entry is one "
      "dispatch;\n"
      "one that takes longer than the threshold is reported. Reports are in the spool directory at once; "
      "with an\n"
      "endpoint, a helper process sends them to the collector.\n\n"
      "  lagwatch run -- redis-server --port 6380\n"
      "  lagwatch clusters");
  sdk::PreloadConfig& config = options->config;
  AddUploadOptions(run, &options->sidecar);
  run->add_option("--app", config.app, "The program's name in reports (default: its file name)")
      ->envname("LAGWATCH_APP");
  run->add_option("--app-version", config.app_version, "Its version")->envname("LAGWATCH_APP_VERSION");
  run->add_option("--user", config.user, "Who is affected, as a pseudonym")->envname("LAGWATCH_USER");
  run->add_option("--threshold-ms", config.threshold_ms, "A dispatch longer than this is a lag")
      ->envname("LAGWATCH_THRESHOLD_MS")
      ->check(CLI::Range(16, 3600000))
      ->capture_default_str();
  run->add_option("--spool", config.spool_directory,
                  "Where reports wait (default: " + sdk::DefaultSpoolDirectory() + ")")
      ->envname("LAGWATCH_SPOOL");
  run->add_option("--threads", config.threads, "Whose loops to watch: main, all, or a thread's name")
      ->envname("LAGWATCH_THREADS")
      ->capture_default_str();
  run->add_option("--dump-signal", options->dump_signal,
                  "A signal (USR2, say) at which the program makes a dump; see `lagwatch dump`")
      ->envname("LAGWATCH_DUMP_SIGNAL");
  run->add_option("command", options->command, "The program and its arguments, after --")->required();
  run->positionals_at_end();
  run->callback([options, exit_code] { *exit_code = Run(*options); });
}

}  // namespace lagwatch::tools
