// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "tools/process_files.h"
#include "tools/why/process_state.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

// "sh (pid 812)"
std::string NameOf(pid_t pid) {
  const std::string command = CommandOf(pid);
  return (command.empty() ? "a process" : command) + " (pid " + std::to_string(pid) + ")";
}

pid_t NumberIn(pid_t pid, std::string_view field) {
  return base::ParseNumber<pid_t>(StatusField(pid, field)).value_or(0);
}

char StateOf(pid_t pid) {
  const std::string state = StatusField(pid, "State");
  return state.empty() ? '?' : state.front();
}

// The control group that holds its processes still, its own or one around it; empty if none does.
std::string FrozenGroupOf(pid_t pid) {
  std::ifstream groups(ProcessFolder(pid) / "cgroup");
  for (std::string line; std::getline(groups, line);) {
    constexpr std::string_view kUnified = "0::/";
    if (!line.starts_with(kUnified)) continue;
    const fs::path root = "/sys/fs/cgroup";
    for (fs::path group = root / line.substr(kUnified.size()); group != root && group.has_relative_path();
         group = group.parent_path()) {
      std::ifstream file(group / "cgroup.freeze");
      int is_frozen = 0;
      if (file >> is_frozen && is_frozen == 1) return group;
    }
  }
  return "";
}

ProcessState DeadState(pid_t pid) {
  const pid_t parent = NumberIn(pid, "PPid");
  return {"is dead, and waits for its parent " + NameOf(parent) + " to read its exit status",
          "lagwatch why " + std::to_string(parent) + "    # why the parent does not call wait()"};
}

ProcessState StoppedState(pid_t pid) {
  if (const pid_t tracer = NumberIn(pid, "TracerPid"); tracer != 0)
    return {"is stopped by its debugger " + NameOf(tracer), "let it go on in the debugger"};
  return {"is stopped by a signal: SIGSTOP, or a stop from its terminal",
          "kill -CONT " + std::to_string(pid)};
}

// Whether it is stopped for longer than a tracer stops it for a look: at some looks in a row.
bool IsStopped(pid_t pid) {
  constexpr int kLooks = 4;
  constexpr std::chrono::milliseconds kPause{40};
  const char first = StateOf(pid);
  if (first != 'T' && first != 't') return false;
  const std::string turns = StatusField(pid, "voluntary_ctxt_switches");
  for (int i = 1; i < kLooks; ++i) {
    std::this_thread::sleep_for(kPause);
    if (StateOf(pid) != first) return false;
  }
  return StatusField(pid, "voluntary_ctxt_switches") == turns;
}

}  // namespace

std::optional<ProcessState> FindProcessState(pid_t pid) {
  const char state = StateOf(pid);
  // The main thread may have ended before the others.
  const bool is_last = NumberIn(pid, "Threads") <= 1;
  if ((state == 'Z' || state == 'X') && is_last) return DeadState(pid);
  if (IsStopped(pid)) return StoppedState(pid);
  if (const std::string group = FrozenGroupOf(pid); !group.empty())
    return ProcessState{"is frozen with its control group " + group, "echo 0 > " + group + "/cgroup.freeze"};
  return std::nullopt;
}

}  // namespace lagwatch::tools
