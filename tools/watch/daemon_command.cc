// SPDX-License-Identifier: Apache-2.0
// lagwatchd: watches the programs of a machine from outside, as its rules say.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "tools/commands.h"
#include "tools/read/table.h"
#include "tools/run/checks.h"
#include "tools/run/preload.h"
#include "tools/run/sidecar.h"
#include "tools/watch/targets.h"
#include "tools/watch/watch_rules.h"
#include "tools/watch/watchers.h"

namespace lagwatch::tools {
namespace {

constexpr const char* kSpoolDirectory = "/var/lib/lagwatchd";

struct DaemonCommand {
  std::string file = kRulesFile;
  bool checks_only = false;
  bool is_quiet = false;
};

base::Result<WatchRules> ReadRules(const DaemonCommand& command) {
  auto rules = ReadWatchRules(command.file);
  if (!rules.ok()) return base::Status(rules.status().code(), command.file + ": " + rules.status().message());
  const auto complete = [](Options* options) {
    if (options->spool_directory.empty()) options->spool_directory = kSpoolDirectory;
  };
  complete(&rules->options);
  for (WatchRule& rule : rules->rules) complete(&rule.settings->options);
  return rules;
}

void Complain(const std::string& message) { std::cerr << "lagwatchd: " << Printable(message) << "\n"; }

void ApplyRules(const WatchRules& rules, Watchers* watchers) {
  const auto is_known = [&](pid_t pid) { return watchers->IsWatched(pid); };
  for (const Target& target : FindAllTargets(is_known)) {
    if (const WatchRule* rule = rules.Find(target)) watchers->Add(target, rule->settings);
  }
}

// Ends the watching of those that now have another rule; they are watched again by that one.
void Reload(const DaemonCommand& command, WatchRules* rules, Watchers* watchers) {
  auto read = ReadRules(command);
  if (!read.ok()) return Complain(read.status().message() + "; the rules stay as they were");
  for (const Target& target : watchers->targets()) {
    const WatchRule* before = rules->Find(target);
    const WatchRule* now = read->Find(target);
    if (before == nullptr || now == nullptr || !before->IsSameAs(*now)) watchers->Remove(target);
  }
  read->KeepQuotasOf(*rules);
  watchers->set_most(read->most_processes);
  *rules = *std::move(read);
  Complain("has " + std::to_string(rules->rules.size()) + " rules");
}

int RunDaemon(const DaemonCommand& command) {
  constexpr int kUsage = 2;
  auto rules = ReadRules(command);
  if (!rules.ok()) {
    Complain(rules.status().message());
    return kUsage;
  }
  if (command.checks_only) return 0;
  const std::string spool = rules->options.spool_directory;
  if (base::Status status = CheckCanKeepReports(spool); !status.ok()) {
    Complain(status.message());
    return kUsage;
  }
  if (geteuid() != 0) Complain("not root: only this user's programs can be watched");
  if (!rules->options.endpoint.empty()) {
    if (base::Status status = StartSidecar(rules->options, getpid()); !status.ok())
      Complain("reports stay in " + spool + ": " + status.message());
  }
  HandleWatchSignals(/*can_reload=*/true);
  UseManyDescriptors();
  Watchers watchers(WatchStart::kWhenInDoubt, rules->most_processes, command.is_quiet);
  if (rules->asks_kernel) {
    base::Status status = watchers.AskKernel();
    Complain(status.ok()
                 ? "has BPF programs in the kernel, which make each system call of this machine slower"
                 : "loops are only looked at, without bpf: " + status.message());
  }
  watchers.SayHowReturnsAreCounted();
  Regularly search(1 * base::kNsPerSecond);
  while (!IsAskedToEnd()) {
    const bool is_reloaded = TakeReloadRequest();
    if (is_reloaded) Reload(command, &*rules, &watchers);
    watchers.Reap();
    if (search.IsDue() || is_reloaded) ApplyRules(*rules, &watchers);
    const int64_t look_ns = watchers.LookNs();
    SleepNs(std::min(look_ns, search.UntilDueNs()));
  }
  watchers.EndAll();
  return 0;
}

}  // namespace

void AddDaemonCommand(CLI::App* app, int* exit_code) {
  auto command = std::make_shared<DaemonCommand>();
  CLI::App* daemon =
      app->add_subcommand("daemon", "Watch the programs of this machine, as rules say: lagwatchd");
  daemon->footer(
      "A file of rules, each for the processes that meet all that it says; the first one that fits "
      "decides:\n\n"
      "  threshold_ms = 1000              # any option of `lagwatch run`, for all rules\n"
      "  endpoint = \"https://lag.example.com\"\n\n"
      "  [[rule]]\n"
      "  program = \"redis-server\"\n"
      "  threshold_ms = 200\n"
      "  quota = 20                       # reports a day\n\n"
      "  [[rule]]\n"
      "  user = \"www-data\"                # or unit = \"nginx.service\"\n"
      "  watch = false\n\n"
      "  [[rule]]                         # all others\n\n"
      "SIGHUP has the rules read again. A file that cannot be read changes nothing.");
  daemon->add_option("--config", command->file, "The file of rules")->capture_default_str();
  daemon->add_flag("--check", command->checks_only, "Only check the rules");
  daemon->add_flag("--quiet", command->is_quiet, "Print errors only");
  daemon->set_version_flag("--version", "lagwatchd " LAGWATCH_VERSION);
  daemon->callback([command, exit_code] { *exit_code = RunDaemon(*command); });
}

}  // namespace lagwatch::tools
