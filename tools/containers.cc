// SPDX-License-Identifier: Apache-2.0
#include "tools/containers.h"

#include <fcntl.h>
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
  for (std::string_view kind :
       {"docker-", "libpod-payload-", "libpod-", "cri-containerd-", "crio-", "machine-", "lxc.payload."})
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

// Whether the process has namespaces of its own, or may not be looked at.
bool IsApart(pid_t pid) {
  return NamespaceOf(pid, "pid") != NamespaceOf(getpid(), "pid") ||
         NamespaceOf(pid, "mnt") != NamespaceOf(getpid(), "mnt");
}

// The file is the container's, and may be anything: a pipe, or without an end.
bool HasHostName(pid_t pid, const std::string& name) {
  constexpr size_t kLongestHostName = 64;
  if (name.size() > kLongestHostName || NamespaceOf(pid, "pid") == NamespaceOf(getpid(), "pid")) return false;
  const base::OwnedFd file = OpenInRootOf(pid, "etc/hostname", O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char text[kLongestHostName + 1];
  const ssize_t size = read(file.get(), text, sizeof text);
  const std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return size > 0 && line.substr(0, line.find('\n')) == name;
}

// As the command says, if the process is there; 0 if it does not know the container, or is another machine's.
pid_t AskRuntime(const std::string& runtime, const std::string& name) {
  const bool is_plain = std::ranges::all_of(name, [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.';
  });
  if (!is_plain || name.starts_with('-')) return 0;
  // It may ask another machine, which may be away.
  const std::string parent = runtime == "podman" ? "{{.State.ConmonPid}}" : "0";
  const std::string command = "timeout 5 " + runtime + " inspect --format '{{.State.Pid}} {{.Id}} " + parent +
                              "' " + name + " 2>/dev/null";
  FILE* answer = popen(command.c_str(), "r");
  if (answer == nullptr) return 0;
  int pid = 0;
  int parent_pid = 0;
  char id[65] = {};
  const bool is_known = std::fscanf(answer, "%d %64s %d", &pid, id, &parent_pid) == 3;
  pclose(answer);
  const bool is_here =
      IsInGroupOf(pid, id) || (parent_pid > 0 && StatusField(pid, "PPid") == std::to_string(parent_pid));
  return is_known && is_here && IsApart(pid) ? pid : 0;
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
  pid_t first = 0;
  for (const char* runtime : {"docker", "podman"})
    if (first == 0) first = AskRuntime(runtime, name);
  // Users name groups as they like, also such that are no container's.
  if (first == 0) first = FindFirst([&](pid_t pid) { return IsInGroupOf(pid, name) && IsApart(pid); });
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
  const bool has_processes = container.processes_ != NamespaceOf(getpid(), "pid");
  const fs::path kept = ProcessFolder(first) / "ns" / (has_processes ? "pid" : "mnt");
  container.kept_ = std::make_shared<const base::OwnedFd>(open(kept.c_str(), O_RDONLY | O_CLOEXEC));
  return container;
}

bool Container::Holds(pid_t pid) const {
  if (kept_ == nullptr) return false;
  const bool is_apart = processes_ != NamespaceOf(getpid(), "pid");
  return is_apart ? NamespaceOf(pid, "pid") == processes_ : NamespaceOf(pid, "mnt") == files_;
}

bool Container::TakeEnd() {
  if (FindFirst([&](pid_t pid) { return Holds(pid); }) != 0) return false;
  kept_.reset();
  return true;
}

bool SeesSameFile(pid_t pid, const std::string& path) {
  std::error_code error;
  const bool has_same_files = NamespaceOf(pid, "mnt") == NamespaceOf(getpid(), "mnt") &&
                              fs::read_symlink(ProcessFolder(pid) / "root", error) ==
                                  fs::read_symlink(ProcessFolder(getpid()) / "root", error);
  struct stat own {};
  if (has_same_files) return stat(path.c_str(), &own) == 0;
  struct stat other {};
  const base::OwnedFd file = OpenInRootOf(pid, path, O_PATH);
  return file && stat(path.c_str(), &own) == 0 && fstat(file.get(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

std::string PathSeenFromHere(pid_t pid, const std::string& path) {
  return SeesSameFile(pid, path) ? path : (ProcessFolder(pid) / "root").string() + path;
}

}  // namespace lagwatch::tools
