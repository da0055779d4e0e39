// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/targets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/process/proc_file.h"
#include "base/text.h"
#include "sdk/run/run_facts.h"
#include "tools/process_files.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

std::optional<pid_t> PidOf(const std::string& word) { return base::ParseNumber<pid_t>(word); }

// Empty for a kernel thread, and where it may not be read.
std::string ProgramFileOf(pid_t pid) {
  std::error_code error;
  std::string name = fs::read_symlink(ProcessFolder(pid) / "exe", error).filename();
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.ends_with(kDeleted)) name.resize(name.size() - kDeleted.size());
  return name;
}

// Under which it was started, through a link perhaps; the kernel cuts long ones off.
std::string NameOf(pid_t pid, const std::string& file) {
  constexpr size_t kMostInKernel = 15;
  const std::string name = CommandOf(pid);
  return name.empty() || (name.size() == kMostInKernel && file.starts_with(name)) ? file : name;
}

bool IsMine(pid_t pid) {
  struct stat status {};
  return stat(ProcessFolder(pid).c_str(), &status) == 0 && status.st_uid == geteuid();
}

bool HasNoCommand(pid_t pid) { return LineIn(ProcessFolder(pid) / "cmdline").empty(); }

bool IsKernelThread(pid_t pid) {
  std::error_code error;
  return !fs::exists(ProcessFolder(pid) / "exe", error) && HasNoCommand(pid);
}

template <typename IsWanted>
std::vector<Target> FindThoseThat(const IsKnown& is_known, IsWanted is_wanted) {
  std::vector<Target> targets;
  const std::string own_program = ProgramFileOf(getpid());
  base::ForEachNumberIn("/proc", [&](int pid) {
    if (pid == getpid() || is_known(pid)) return true;
    const std::string program = ProgramFileOf(pid);
    if (program == own_program || (program.empty() && HasNoCommand(pid)) || !is_wanted(pid)) return true;
    const auto start_ticks = sdk::ProcessStartTicks(static_cast<uint32_t>(pid));
    if (start_ticks) targets.push_back({pid, *start_ticks, NameOf(pid, program)});  // else it has ended
    return true;
  });
  return targets;
}

}  // namespace

bool TargetChoice::IsOfIdsAlone() const {
  return !is_mine && !container &&
         std::ranges::all_of(words, [](const std::string& word) { return PidOf(word).has_value(); });
}

bool IsOfUnit(pid_t pid, const std::string& unit) {
  std::ifstream file(ProcessFolder(pid) / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find("/" + unit);
    if (at == std::string::npos) continue;
    const size_t end = at + 1 + unit.size();
    if (end == line.size() || line[end] == '/') return true;
  }
  return false;
}

std::string UnitOf(pid_t pid) {
  std::ifstream file(ProcessFolder(pid) / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::string name = line.substr(line.rfind('/') + 1);
    if (name.ends_with(".service") || name.ends_with(".scope")) return name;
  }
  return "";
}

bool IsNamed(pid_t pid, const std::string& word) {
  if (const auto number = PidOf(word)) return *number == pid;
  if (word.ends_with(".service") || word.ends_with(".scope") || word.ends_with(".slice"))
    return IsOfUnit(pid, word);
  return ProgramFileOf(pid) == word || CommandOf(pid) == word.substr(0, 15);
}

std::vector<Target> FindTargets(const TargetChoice& choice, const IsKnown& is_known) {
  return FindThoseThat(is_known, [&](pid_t pid) {
    if (choice.container && !choice.container->Holds(pid)) return false;
    return (choice.is_mine && IsMine(pid)) || (choice.container && choice.words.empty()) ||
           std::ranges::any_of(choice.words, [&](const auto& word) { return IsNamed(pid, word); });
  });
}

std::vector<Target> FindAllTargets(const IsKnown& is_known) {
  return FindThoseThat(is_known, [](pid_t) { return true; });
}

std::string LabelOf(const Target& target) {
  return Printable(target.name) + " (" + std::to_string(target.pid) + ")";
}

ReportQuota::Program ProgramOf(pid_t pid) {
  struct stat file {};
  if (stat((ProcessFolder(pid) / "exe").c_str(), &file) != 0) file = {};
  const std::string users = StatusField(pid, "Uid");  // the real one comes first
  return {.user = base::ParseNumber<uid_t>(users.substr(0, users.find('\t'))).value_or(0),
          .device = file.st_dev,
          .file = file.st_ino};
}

base::Status CheckTarget(pid_t pid) {
  if (base::Status status = CheckMayLookInto(pid); !status.ok()) return status;
  if (IsKernelThread(pid))
    return {base::StatusCode::kInvalid, std::to_string(pid) + " is a thread of the kernel"};
  return {};
}

}  // namespace lagwatch::tools
