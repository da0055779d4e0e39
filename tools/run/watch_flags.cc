// SPDX-License-Identifier: Apache-2.0
#include "tools/run/watch_flags.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/process/env.h"
#include "base/text.h"
#include "policies/options/option_flag.h"
#include "tools/commands.h"
#include "tools/schema/flag_names.h"

namespace lagwatch::tools {
namespace {

// Adds the flags of the options that have one.
struct FlagAdder {
  CLI::App* run;

  void Text(const char* name, policies::OptionFlag flag, std::string standard, const char* help,
            std::string* value) const {
    if (!flag.is_flag) return;
    std::erase(standard, '`');
    const std::string shown =
        standard.empty() || standard.starts_with("empty") ? "" : " (default: " + standard + ")";
    run->add_option(FlagName(name), *value, HelpLine(help) + shown)->envname(FlagVariable(name));
  }
  void Number(const char* name, policies::OptionFlag flag, uint32_t least, uint32_t most,
              std::string_view special, const char* help, uint32_t* value) const {
    if (!flag.is_flag) return;
    if (flag.has_default) *value = flag.standard;
    const std::string shown = special.empty() ? "" : "; " + std::string(special);
    run->add_option(FlagName(name), *value, HelpLine(help) + shown)
        ->envname(FlagVariable(name))
        ->check(CLI::Range(special.starts_with("0:") ? 0 : least, most))
        ->capture_default_str();
  }
  void Switch(const char* name, policies::OptionFlag flag, const char* help, bool* value) const {
    if (flag.is_flag) run->add_flag(FlagName(name), *value, HelpLine(help))->envname(FlagVariable(name));
  }
};

}  // namespace

int SignalNumber(const std::string& text) {
  if (const auto number = base::ParseNumber<int>(text)) return *number > 0 && *number < NSIG ? *number : 0;
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int number = 1; number < NSIG; ++number) {
    const char* abbreviation = sigabbrev_np(number);
    if (abbreviation != nullptr && name == abbreviation) return number;
  }
  return 0;
}

base::Status WatchFlags::ApplyNames() {
  if (expensive == "leaf") options.detection.expensive = LW_EXPENSIVE_LEAF;
  if (dump_signal.empty()) return {};
  options.dump.signal = SignalNumber(dump_signal);
  if (options.dump.signal != 0) return {};
  return {base::StatusCode::kInvalid, "'" + dump_signal + "' is not a signal"};
}

Options WatchFlags::OptionsOfProgram() const {
  Options of_program = options;
  of_program.endpoint.clear();
  of_program.key.clear();
  of_program.upload = {};
  return of_program;
}

void AddWatchFlags(CLI::App* run, WatchFlags* values) {
  const FlagAdder adder{run};
  Options& options = values->options;
  using policies::FlagWith;
  using policies::kFlag;
  using policies::kNoFlag;
  // Signals and choices are given by name; one of each has a flag.
#define OPTION_TEXT(name, path, flag, standard, range, help) \
  adder.Text(#name, flag, standard, help, &options.path);
#define OPTION_NUMBER(name, path, flag, standard, least, most, special, help) \
  adder.Number(#name, flag, least, most, special, help, &options.path);
#define OPTION_SWITCH(name, path, flag, help) adder.Switch(#name, flag, help, &options.path);
#define OPTION_SIGNAL(name, path, flag, special, range, help) \
  adder.Text(#name, flag, "", help, &values->dump_signal);
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) \
  adder.Text(#name, flag, "", help, &values->expensive);
#include "policies/options/options.def"
  run->get_option("--expensive")->check(CLI::IsMember({"path", "leaf"}))->capture_default_str();
  run->add_option(
         "--log", values->log,
         "Say each hang as it happens: on stderr, or in systemd's journal (journal). A process beside "
         "the program does so, from its report")
      ->envname("LAGWATCH_LOG")
      ->check(CLI::IsMember({"stderr", "journal"}));
}

base::Status FleetFlags::Check(const Options& options) const {
  if (list_file.empty() && list_key.empty()) return {};
  if (list_file.empty() || list_key.empty())
    return {base::StatusCode::kInvalid, "--fleet-probes and --fleet-probes-key need each other"};
  if (options.endpoint.empty() || options.upload.config_key.empty())
    return {base::StatusCode::kInvalid,
            "--fleet-probes needs --endpoint and --config-key: a collector asks by its config"};
  return {};
}

base::Status FleetFlags::CheckList() const {
  std::string list;
  const int error = list_file.empty() ? 0 : base::SystemEnv().ReadAll(list_file, &list);
  if (error == 0) return {};
  return base::IoError("--fleet-probes: until it can be read, no probe is run for a collector: " + list_file,
                       error);
}

void AddFleetFlags(CLI::App* command, FleetFlags* values) {
  command
      ->add_option("--fleet-probes", values->list_file,
                   "Let the collector ask for probes by the scripts of this signed list (lagwatch "
                   "probe-list), and no others")
      ->envname("LAGWATCH_FLEET_PROBES");
  command
      ->add_option("--fleet-probes-key", values->list_key,
                   "The public key of that list's signer, 64 hexadecimal digits")
      ->envname("LAGWATCH_FLEET_PROBES_KEY");
}

void AddSoftWatchdogFlag(CLI::App* command, sdk::PreloadConfig* config) {
  command
      ->add_flag("--soft-watchdog", config->soft_watchdog,
                 "Report all stacks if a service is late with its WATCHDOG=1 for systemd (after 75 % of "
                 "WatchdogSec=), before systemd ends it")
      ->envname("LAGWATCH_SOFT_WATCHDOG");
}

}  // namespace lagwatch::tools
