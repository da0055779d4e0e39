// SPDX-License-Identifier: Apache-2.0
#include "tools/dump/dump_command.h"

#include <signal.h>
#include <sys/types.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct DumpOptions {
  pid_t pid = 0;
  std::string signal = "USR2";
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

int Dump(const DumpOptions& options) {
  const int number = SignalNumber(options.signal);
  const std::string pid = std::to_string(options.pid);
  const fs::path process = "/proc/" + pid;
  if (!fs::exists(process)) return Fail("there is no process " + pid);
  if (!HasWatchdog(process))
    return Fail("process " + pid + " is not watched: it has no thread named lagwatch");
  if (!Handles(process, number)) {
    return Fail("process " + pid + " does not handle signal " + options.signal +
                ", which might end it; give the one that it was started with (lw_options.dump_signal, or "
                "lagwatch run --dump-signal) as --signal");
  }
  if (kill(options.pid, number) != 0)
    return Fail("cannot send a signal to process " + pid + ": " + std::strerror(errno));
  std::cout << "asked process " << pid << " for a dump; `lagwatch reports` lists it\n";
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
      "Sends the signal that the program was told to make dumps at:\n\n"
      "  lagwatch run --dump-signal USR2 -- redis-server\n"
      "  lagwatch dump $(pidof redis-server)\n"
      "  lagwatch reports");
  dump->add_option("PID", options->pid, "The process")->required()->check(CLI::PositiveNumber);
  dump->add_option("--signal", options->signal, "The signal: a name or a number")
      ->envname("LAGWATCH_DUMP_SIGNAL")
      ->check([](const std::string& text) {
        return SignalNumber(text) != 0 ? "" : "'" + text + "' is no signal";
      })
      ->capture_default_str();
  dump->callback([options, exit_code] { *exit_code = Dump(*options); });
}

}  // namespace lagwatch::tools
