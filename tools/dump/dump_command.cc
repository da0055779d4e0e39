// SPDX-License-Identifier: Apache-2.0
#include "tools/dump/dump_command.h"

#include <signal.h>
#include <sys/types.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "sdk/preload/preload_config.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct DumpOptions {
  pid_t pid = 0;
  std::string signal;  // empty: what `lagwatch run` was told
};

int Fail(const std::string& message) {
  std::cerr << "lagwatch: " << message << "\n";
  return 1;
}

std::string LineIn(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool HasWatchdog(const fs::path& process) {
  std::error_code error;
  for (const fs::directory_entry& thread : fs::directory_iterator(process / "task", error)) {
    if (LineIn(thread.path() / "comm") == "lagwatch") return true;
  }
  return false;
}

// Whether the process has a handler for the signal: without one, the signal might end it.
bool Handles(const fs::path& process, int signal_number) {
  constexpr char kCaught[] = "SigCgt:";
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(kCaught, 0) != 0) continue;
    uint64_t caught = std::strtoull(line.c_str() + sizeof kCaught - 1, nullptr, 16);
    return (caught >> (signal_number - 1) & 1) != 0;
  }
  return false;
}

// As `lagwatch run` told the program at its start; 0 when it did not, or when that cannot be seen any more.
int SignalOfRun(const fs::path& process) {
  const std::string name = std::string(sdk::kPreloadConfigVariable) + "=";
  std::ifstream environment(process / "environ");
  for (std::string variable; std::getline(environment, variable, '\0');) {
    if (variable.rfind(name, 0) == 0)
      return static_cast<int>(sdk::PreloadConfig::Parse(variable.substr(name.size())).dump_signal);
  }
  return 0;
}

int Dump(const DumpOptions& options) {
  const std::string pid = std::to_string(options.pid);
  const fs::path process = "/proc/" + pid;
  if (!fs::exists(process)) return Fail("there is no process " + pid);
  if (!HasWatchdog(process))
    return Fail("process " + pid + " is not watched: it has no thread named lagwatch");
  const int number = options.signal.empty() ? SignalOfRun(process) : SignalNumber(options.signal);
  if (number == 0) {
    return Fail("which signal asks process " + pid +
                " for a dump is not known: give the one of its option dump_signal as --signal");
  }
  if (!Handles(process, number)) {
    return Fail("process " + pid + " does not handle signal " + std::to_string(number) +
                ", which might end it: give the one of its option dump_signal as --signal");
  }
  if (kill(options.pid, number) != 0)
    return Fail("cannot send a signal to process " + pid + ": " + std::strerror(errno));
  std::cout << "asked process " << pid << " for a dump, one in 10 s is made; `lagwatch reports` lists it\n";
  return 0;
}

}  // namespace

int SignalNumber(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) return number > 0 && number < NSIG ? number : 0;
  const std::string name = text.rfind("SIG", 0) == 0 ? text.substr(3) : text;
  for (number = 1; number < NSIG; ++number) {
    const char* abbreviation = sigabbrev_np(number);
    if (abbreviation != nullptr && name == abbreviation) return number;
  }
  return 0;
}

void AddDumpCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* dump =
      app->add_subcommand("dump", "Ask a watched program for a report of what all its threads are doing");
  dump->footer(
      "Sends the signal that the program was told to make dumps at. What was started by `lagwatch run` "
      "tells which\n"
      "one that is.\n\n"
      "  lagwatch run --dump-signal USR2 -- redis-server\n"
      "  lagwatch dump $(pidof redis-server)\n"
      "  lagwatch reports");
  dump->add_option("PID", options->pid, "The process")
      ->required()
      ->check(CLI::Range(1, INT_MAX, "a process id"));
  dump->add_option("--signal", options->signal, "The signal: a name or a number")
      ->check([](const std::string& text) {
        return SignalNumber(text) != 0 ? "" : "'" + text + "' is no signal";
      });
  dump->callback([options, exit_code] { *exit_code = Dump(*options); });
}

}  // namespace lagwatch::tools
