// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/containers.h"
#include "tools/process_files.h"
#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/run/attach_until.h"
#include "tools/run/frozen_program.h"
#include "tools/run/java.h"
#include "tools/run/jvm_attach.h"
#include "tools/run/preload.h"
#include "tools/run/preload_attach.h"
#include "tools/run/sidecar.h"
#include "tools/run/target_spool.h"
#include "tools/run/watch_flags.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct AttachOptions : WatchFlags {
  sdk::PreloadConfig config;
  std::string until;
  std::string target;
  std::string container;
  FleetFlags fleet;
};

// A JVM's main class or archive, as it is written in its command line.
bool HasArgument(const fs::path& process, const std::string& text) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::string argument;
  std::getline(file, argument, '\0');  // the program
  while (std::getline(file, argument, '\0')) {
    if (argument == text || argument.ends_with("/" + text) || argument.ends_with("." + text)) return true;
  }
  return false;
}

// The process that a PID or a name means; in a container, whose first one is meant by no name. Errors:
// kNotFound, and kInvalid if a name means several.
base::Result<pid_t> FindProcess(const std::string& target, const std::string& container_name = "") {
  std::optional<Container> container;
  if (!container_name.empty()) container = LAGWATCH_TRY(Container::Find(container_name));
  if (container && target.empty()) return container->first_process();
  if (target.empty())
    return base::Status(base::StatusCode::kInvalid, "say which process: its id or its name");
  if (const auto pid = base::ParseNumber<pid_t>(target); pid && *pid > 0) {
    if (fs::exists("/proc/" + target)) return *pid;
    return base::Status(base::StatusCode::kNotFound, "no such process: " + target);
  }
  std::vector<pid_t> found;
  std::string list;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = base::ParseNumber<pid_t>(entry.path().filename().string());
    if (!pid || *pid == getpid() || (container && !container->Holds(*pid))) continue;
    if (CommandOf(*pid) != target && !(IsJvm(*pid) && HasArgument(entry.path(), target))) continue;
    found.push_back(*pid);
    list += (list.empty() ? "" : ", ") + std::to_string(*pid);
  }
  if (found.empty())
    return base::Status(base::StatusCode::kNotFound, "no process of this user is named '" + target +
                                                         "'; `lagwatch run -- " + target + "` starts one");
  if (found.size() > 1)
    return base::Status(base::StatusCode::kInvalid,
                        "several processes are named '" + target + "': give one of " + list);
  return found.front();
}

int RefuseAttach(const std::string& message) {
  Fail(message);
  return 2;
}

// The configuration of a program that is no JVM. Programs that it starts are not followed.
sdk::PreloadConfig ConfigOf(const AttachOptions& attach, pid_t pid) {
  sdk::PreloadConfig config = attach.config;
  config.options = attach.OptionsOfProgram();
  if (config.options.app.empty()) config.options.app = CommandOf(pid);
  config.children = "none";
  config.is_sent = attach.options.endpoint.empty() ? 0 : 1;
  config.notify_socket = VariableOf(pid, "NOTIFY_SOCKET");
  constexpr uint64_t kUsPerMs = 1000;
  const auto timeout_us = base::ParseNumber<uint64_t>(VariableOf(pid, "WATCHDOG_USEC"));
  config.watchdog_timeout_ms =
      static_cast<uint32_t>(std::min<uint64_t>(timeout_us.value_or(0) / kUsPerMs, UINT32_MAX));
  return config;
}

// Whether systemd waits for notifications of that process.
bool HasSystemdsWatchdog(pid_t pid) {
  const std::string of = VariableOf(pid, "WATCHDOG_PID");
  return !VariableOf(pid, "WATCHDOG_USEC").empty() && !VariableOf(pid, "NOTIFY_SOCKET").empty() &&
         (of.empty() || of == std::to_string(OwnPidOf(pid)));
}

// Returns how long a thread of the program was stopped, as it is printed.
base::Result<std::string> LoadIntoProgram(const AttachOptions& attach, pid_t pid) {
  if (!IsJvm(pid)) {
    const auto attached = LAGWATCH_TRY(AttachPreload(pid, ConfigOf(attach, pid)));
    return " (a thread was stopped for at most " + std::to_string(attached.stop_ns / 1000) + " µs)";
  }
  const auto texts = LAGWATCH_TRY(AgentOptionTexts(attach.OptionsOfProgram(), {.with_children = true}));
  if (base::Status status = LoadIntoJvm(pid, FindAgent(), texts); !status.ok()) return status;
  return std::string();
}

int Detach(const std::string& target) {
  auto pid = FindProcess(target);
  if (!pid.ok()) return RefuseAttach("detach: " + pid.status().message());
  if (base::Status status = IsJvm(*pid) ? CheckCanAttachJvm(*pid) : CheckCanAttach(*pid); !status.ok())
    return RefuseAttach("detach: " + status.message());
  if (base::Status status =
          IsJvm(*pid) ? LoadIntoJvm(*pid, FindAgent(), "stop=1") : DetachPreload(*pid).status();
      !status.ok())
    return RefuseAttach("detach: " + status.message());
  std::cout << "process " << *pid << " is not watched any more\n";
  return 0;
}

// Blocks them, so that they end the wait for the attachment's end instead of the command.
void BlockEndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// Another user's program could not write to this one's.
base::Status SetSpool(pid_t pid, Options* options) {
  const bool is_others = IsOtherUsers(pid);
  std::string& directory = options->spool_directory;
  if (directory.empty() && !is_others) directory = sdk::DefaultSpoolDirectory();
  if (!directory.empty()) directory = fs::absolute(directory);
  if (is_others && geteuid() == 0) directory = LAGWATCH_TRY(PrepareSpoolFor(pid, directory));
  return {};
}

void PrintIfFrozen(pid_t pid, const FrozenProgram& frozen) {
  if (frozen.frozen_ns == 0) return;
  std::cout << "it has been frozen for " << frozen.frozen_ns / base::kNsPerMs << " ms at least";
  if (!frozen.is_reported) std::cout << "; `lagwatch watch " << pid << "` reports that";
  std::cout << "\n";
}

int Attach(AttachOptions attach) {
  const int64_t begin_wall_ms = base::SystemClock().WallMs();
  if (base::Status status = attach.ApplyNames(); !status.ok())
    return RefuseAttach("attach: " + status.message());
  if (base::Status status = attach.fleet.Check(attach.options); !status.ok())
    return RefuseAttach("attach: " + status.message());
  const auto end = AttachEnd::Parse(attach.until);
  if (!end.ok()) return RefuseAttach("attach: " + end.status().message());
  auto pid = FindProcess(attach.target, attach.container);
  if (!pid.ok()) return RefuseAttach("attach: " + pid.status().message());
  if (base::Status status = IsJvm(*pid) ? CheckCanAttachJvm(*pid) : CheckCanAttach(*pid); !status.ok())
    return RefuseAttach("attach: " + status.message());
  if (base::Status status = SetSpool(*pid, &attach.options); !status.ok())
    return RefuseAttach("attach: " + status.message());
  if (attach.config.soft_watchdog != 0 && !HasSystemdsWatchdog(*pid)) {
    std::cerr
        << "lagwatch: --soft-watchdog has nothing to do: systemd has set no WATCHDOG_USEC for this process "
           "(see WatchdogSec= in systemd.service(5))\n";
    attach.config.soft_watchdog = 0;
  }
  if (base::Status status = attach.fleet.CheckList(); !status.ok())
    std::cerr << "lagwatch: " << status.message() << "\n";
  Options& options = attach.options;
  if (end->kind != AttachEnd::EndKind::kNone) BlockEndSignals();
  // Before it is stopped: then the kernel knows no more since when it sleeps.
  const FrozenProgram frozen =
      IsJvm(*pid) ? FrozenProgram() : ReportIfFrozen(*pid, attach, attach.config.threads);
  const auto stopped = LoadIntoProgram(attach, *pid);
  if (!stopped.ok()) return RefuseAttach("attach: " + stopped.status().message());
  std::cout << "process " << *pid << " is watched" << *stopped << "; `lagwatch detach " << *pid
            << "` ends that\n";
  if (!options.spool_directory.empty()) {
    const std::string seen = PathSeenFromHere(*pid, options.spool_directory);
    if (seen != options.spool_directory || IsOtherUsers(*pid))
      std::cout << "its reports are in " << Printable(seen) << "\n";
    options.spool_directory = seen;
  }
  PrintIfFrozen(*pid, frozen);
  std::cout.flush();
  int code = 0;
  if (!options.endpoint.empty()) {
    if (options.app.empty()) options.app = CommandOf(*pid);
    base::Status status = StartSidecar(options, *pid, attach.fleet);
    if (!status.ok()) code = Fail("reports stay in " + options.spool_directory + ": " + status.message());
  }
  const HangLog log{.to = attach.log,
                    .spool_directory = options.spool_directory,
                    .pid = static_cast<uint32_t>(OwnPidOf(*pid)),
                    .since_wall_ms = begin_wall_ms,
                    .ends_when_detached = true};
  if (base::Status status = StartHangLog(log, *pid); !status.ok())
    code = Fail("hangs are not logged: " + status.message());
  if (end->kind == AttachEnd::EndKind::kNone || AwaitAttachEnd(*pid, *end, options.spool_directory))
    return code;
  return Detach(std::to_string(*pid));
}

}  // namespace

void AddAttachCommands(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<AttachOptions>();
  CLI::App* attach = app->add_subcommand("attach", "Watch a program that runs already");
  attach->footer(
      "The program loads the library of `lagwatch run`, which watches its loops from their next wait on. A "
      "JVM\n"
      "loads lagwatch's agent; JVM 21 or later prints a warning about that on its stderr, unless it has the\n"
      "option -XX:+EnableDynamicAgentLoading. A program that can load nothing is watched by `lagwatch "
      "watch`.\n"
      "One that sees other files, such as those of a container, gets the library by its memory, and keeps\n"
      "reports where it sees them.\n\n"
      "  lagwatch attach redis-server\n"
      "  lagwatch reports");
  attach->add_option("PID|NAME", options->target,
                     "The process, its name, or the main class or archive of a JVM");
  attach->add_option("--container", options->container,
                     "Find the process in this container: its id, its name, or its host name. Without PID or "
                     "NAME, its first process");
  attach->add_option("--until", options->until,
                     "Stay, and detach after the first hang (hang), at the program's end (exit), or after a "
                     "time (30s, 10m, 2h); Ctrl-C detaches at once. Default: return at once");
  AddWatchFlags(attach, options.get());
  AddFleetFlags(attach, &options->fleet);
  attach
      ->add_option("--threads", options->config.threads,
                   "Threads whose loops to watch, as for `lagwatch run`; not for a JVM")
      ->envname("LAGWATCH_THREADS")
      ->capture_default_str();
  AddSoftWatchdogFlag(attach, &options->config);
  attach->callback([options, exit_code] { *exit_code = Attach(*options); });

  auto target = std::make_shared<std::string>();
  CLI::App* detach = app->add_subcommand("detach", "End the watching of a program that was attached");
  detach->footer("What was loaded stays, without a thread; `lagwatch attach` watches the program again.");
  detach->add_option("PID|NAME", *target, "As for `lagwatch attach`")->required();
  detach->callback([target, exit_code] { *exit_code = Detach(*target); });
}

}  // namespace lagwatch::tools
