// SPDX-License-Identifier: Apache-2.0
#include "tools/containers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

// "pid:[4026531836]"; empty if it may not be read.
std::string NamespaceOf(pid_t pid, const char* kind) {
  std::error_code error;
  return fs::read_symlink(ProcessFolder(pid) / "ns" / kind, error);
}

bool IsIdWithStart(std::string_view id, std::string_view start) {
  constexpr size_t kShortIdDigits = 12;
  return start.size() >= kShortIdDigits && id.starts_with(start) &&
         std::ranges::all_of(id, [](unsigned char letter) { return std::isxdigit(letter) != 0; });
}

// Whether one folder of the control group is the container's: "docker-ID.scope", "machine-NAME.scope",
// "lxc.payload.NAME", or "ID".
bool IsGroupOf(std::string_view group, std::string_view name) {
  constexpr std::string_view kScope = ".scope";
  if (group.ends_with(kScope)) group.remove_suffix(kScope.size());
  for (std::string_view kind : {"docker-", "libpod-", "cri-containerd-", "crio-", "machine-", "lxc.payload."})
    if (group.starts_with(kind)) {
      group.remove_prefix(kind.size());
      return group == name || IsIdWithStart(group, name);
    }
  return IsIdWithStart(group, name);
}

bool IsInGroupOf(pid_t pid, const std::string& name) {
  std::ifstream file(ProcessFolder(pid) / "cgroup");
  for (std::string line; std::getline(file, line);) {
    for (size_t begin = line.find('/'); begin != std::string::npos;) {
      const size_t end = line.find('/', begin + 1);
      if (IsGroupOf(std::string_view(line).substr(begin + 1, end - begin - 1), name)) return true;
      begin = end;
    }
  }
  return false;
}

// The file is the container's: reading a pipe of that name would have no end.
bool HasHostName(pid_t pid, const std::string& name) {
  const fs::path file = ProcessFolder(pid) / "root/etc/hostname";
  std::error_code error;
  return NamespaceOf(pid, "pid") != NamespaceOf(getpid(), "pid") && fs::is_regular_file(file, error) &&
         LineIn(file) == name;
}

// As the command says; 0 if it does not know the container.
pid_t AskRuntime(const std::string& runtime, const std::string& name) {
  const bool is_plain = std::ranges::all_of(name, [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
  });
  if (!is_plain || name.starts_with('-')) return 0;
  const std::string command = runtime + " inspect --format '{{.State.Pid}}' " + name + " 2>/dev/null";
  FILE* answer = popen(command.c_str(), "r");
  if (answer == nullptr) return 0;
  int pid = 0;
  if (std::fscanf(answer, "%d", &pid) != 1) pid = 0;
  pclose(answer);
  return pid;
}

// The oldest process that is so, which has the lowest id as long as ids have not begun again; 0 for none.
pid_t FindFirst(const std::function<bool(pid_t)>& is_wanted) {
  pid_t first = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const auto pid = base::ParseNumber<pid_t>(entry.path().filename().string());
    if (pid && *pid != getpid() && (first == 0 || *pid < first) && is_wanted(*pid)) first = *pid;
  }
  return first;
}

}  // namespace

base::Result<Container> Container::Find(const std::string& name) {
  Container container;
  pid_t first = FindFirst([&](pid_t pid) { return IsInGroupOf(pid, name); });
  for (const char* runtime : {"docker", "podman"})
    if (first == 0) first = AskRuntime(runtime, name);
  if (first == 0) first = FindFirst([&](pid_t pid) { return HasHostName(pid, name); });
  if (first == 0)
    return base::Status(base::StatusCode::kNotFound,
                        "no container '" + name +
                            "': no control group and no host name is called so, and neither docker nor "
                            "podman knows it (other users' need sudo)");
  container.first_process_ = first;
  container.processes_ = NamespaceOf(first, "pid");
  container.files_ = NamespaceOf(first, "mnt");
  if (container.processes_.empty())
    return base::Status(base::StatusCode::kInvalid,
                        "the container '" + name + "' belongs to another user: use sudo");
  return container;
}

bool Container::Holds(pid_t pid) const {
  const bool is_apart = processes_ != NamespaceOf(getpid(), "pid");
  return is_apart ? NamespaceOf(pid, "pid") == processes_ : NamespaceOf(pid, "mnt") == files_;
}

bool SeesSameFile(pid_t pid, const std::string& path) {
  struct stat own {};
  struct stat other {};
  return stat(path.c_str(), &own) == 0 &&
         stat((ProcessFolder(pid) / "root").append(path.substr(1)).c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

std::string PathSeenFromHere(pid_t pid, const std::string& path) {
  return SeesSameFile(pid, path) ? path : (ProcessFolder(pid) / "root").string() + path;
}

}  // namespace lagwatch::tools
