// SPDX-License-Identifier: Apache-2.0
#include "tools/run/sidecar.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process/own_command.h"
#include "tools/process_files.h"
#include "tools/run/preload.h"

namespace lagwatch::tools {
namespace {

// The number that the followed process's descriptor, or that of the processes to log, has in the sidecar.
constexpr int kFollowedFd = 3;
// Likewise that of the spool directory: one of another mount namespace has no path once its processes have
// ended.
constexpr int kSpoolFd = 4;

// A spool directory in the root directory of a process with other mounts is kept open, and named by that,
// since its path ends with the process, and since the process may replace what is there by a link.
std::string KeepSpoolDirectory(const std::string& directory, pid_t process) {
  const std::string root = "/proc/" + std::to_string(process) + "/root/";
  if (!directory.starts_with(root)) {
    close(kSpoolFd);
    return directory;
  }
  const int opened = fcntl(OpenInRootOf(process, directory.substr(root.size()), O_PATH | O_DIRECTORY).get(),
                           F_DUPFD, kSpoolFd + 1);
  if (opened < 0 || dup2(opened, kSpoolFd) < 0) _exit(1);
  return "/proc/self/fd/" + std::to_string(kSpoolFd);
}

// Whether it is the LD_PRELOAD that is meant for the watched program, behind the user's own.
bool NamesOwnLibrary(std::string_view variable) {
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  if (!variable.starts_with(kPreload)) return false;
  const std::string_view first = variable.substr(kPreload.size(), variable.find(':') - kPreload.size());
  return first.substr(first.rfind('/') + 1) == kPreloadLibraryName;
}

// As the user gave it, for a proxy and the like; without what is meant for the watched program, by which the
// sidecar would be watched itself, and without lagwatch's own variables: options are arguments.
std::vector<std::string> SidecarEnvironment() {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (text.starts_with("LAGWATCH_") || text.starts_with("JAVA_TOOL_OPTIONS=") || NamesOwnLibrary(text))
      continue;
    environment.emplace_back(text);
  }
  return environment;
}

std::vector<char*> PointersTo(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// It ends by the signals that end any process, also where the command has blocked or ignores them, and keeps
// no file system busy.
void LeaveCommandBehind() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  [[maybe_unused]] const int result = chdir("/");
}

// The sidecar's own part of a start: its arguments, without the program, are those that `arguments` returns
// for the spool directory, under the name that it has there.
struct Sidecar {
  pid_t followed_pid;
  std::string spool_directory;
  std::vector<std::string> environment;
  std::function<std::vector<std::string>(const std::string& spool)> arguments;
  bool keeps_stderr = false;
  int followed_fd = -1;  // -1: that of the process
};

[[noreturn]] void BecomeSidecar(Sidecar sidecar) {
  const int followed_fd = sidecar.followed_fd;
  base::OwnCommand own = base::CommandOf(base::kSelf, "lagwatch");
  LeaveCommandBehind();
  int null = open("/dev/null", O_RDWR);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fd != STDERR_FILENO || !sidecar.keeps_stderr) dup2(null, fd);
  if (followed_fd == kFollowedFd) {
    fcntl(followed_fd, F_SETFD, 0);
  } else {
    dup2(followed_fd, kFollowedFd);
  }
  const std::string spool = KeepSpoolDirectory(sidecar.spool_directory, sidecar.followed_pid);
  close_range(kSpoolFd + 1, ~0U, 0);
  for (std::string& argument : sidecar.arguments(spool)) own.arguments.push_back(std::move(argument));
  execve(own.file.c_str(), PointersTo(&own.arguments).data(), PointersTo(&sidecar.environment).data());
  _exit(127);
}

base::Status StartBeside(Sidecar sidecar) {
  base::OwnedFd process;
  if (sidecar.followed_fd < 0) {
    process = base::OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, sidecar.followed_pid, 0)));
    sidecar.followed_fd = process.get();
  }
  if (sidecar.followed_fd < 0) return base::IoError("cannot follow the program (Linux 5.3 is needed)", errno);
  pid_t child = fork();
  if (child < 0) return base::IoError("cannot start a process beside the program", errno);
  if (child == 0) {
    // A grandchild, so that the program will never meet a child that it did not start.
    setsid();
    if (fork() == 0) BecomeSidecar(std::move(sidecar));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return {};
}

std::vector<std::string> UploadArguments(const Options& options, pid_t followed_run, const FleetFlags& fleet,
                                         const std::string& spool) {
  std::vector<std::string> arguments = {
      "upload",
      "--spool=" + spool,
      "--endpoint=" + options.endpoint,
      "--follow-fd=" + std::to_string(kFollowedFd),
      "--follow-run=" + std::to_string(followed_run),
      "--user-rate-ppm=" + std::to_string(options.upload.user_rate_ppm),
      "--reports-per-day=" + std::to_string(options.upload.reports_per_day),
      "--reports-per-cause=" + std::to_string(options.upload.reports_per_cause),
      "--traces-per-day=" + std::to_string(options.upload.traces_per_day),
      "--slow-reports-per-day=" + std::to_string(options.upload.slow_reports_per_day)};
  // An empty value would be taken from the next argument.
  auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) arguments.push_back(flag + "=" + value);
  };
  add("--config-key", options.upload.config_key);
  add("--app", options.app);
  add("--app-version", options.app_version);
  add("--user", options.user);
  add("--fleet-probes", fleet.list_file);
  add("--fleet-probes-key", fleet.list_key);
  return arguments;
}

base::Status StartHangLogBeside(const HangLog& log, pid_t followed_pid, int followed_fd) {
  if (log.to == "journal" && access(kJournalSocket, W_OK) != 0)
    return {base::StatusCode::kUnavailable, kNoJournal};
  const auto arguments = [&](const std::string& spool) {
    std::vector<std::string> all = {"log", "--spool=" + spool, "--to=" + log.to,
                                    "--since-ms=" + std::to_string(log.since_wall_ms),
                                    "--follow-fd=" + std::to_string(kFollowedFd)};
    all.push_back(followed_fd < 0 ? "--pid=" + std::to_string(log.pid) : "--pids-on-fd");
    if (log.has_children || log.ends_when_detached) all.push_back("--follow-run=" + std::to_string(log.pid));
    if (log.ends_when_detached) all.push_back("--until-detached");
    return all;
  };
  return StartBeside({.followed_pid = followed_pid,
                      .spool_directory = log.spool_directory,
                      .environment = SidecarEnvironment(),
                      .arguments = arguments,
                      .keeps_stderr = true,
                      .followed_fd = followed_fd});
}

}  // namespace

base::Status StartSidecar(const Options& options, pid_t followed_pid, FleetFlags fleet) {
  // Now: the sidecar leaves this folder before it makes its arguments.
  if (!fleet.list_file.empty()) fleet.list_file = std::filesystem::absolute(fleet.list_file).string();
  std::vector<std::string> environment = SidecarEnvironment();
  environment.push_back("LAGWATCH_KEY=" + options.key);  // not among the arguments, which all users can read
  if (!options.upload.user_proof.empty())
    environment.push_back("LAGWATCH_USER_PROOF=" + options.upload.user_proof);
  if (!options.upload.ca_file.empty())
    environment.push_back("LAGWATCH_CA_FILE=" + std::filesystem::absolute(options.upload.ca_file).string());
  return StartBeside({.followed_pid = followed_pid,
                      .spool_directory = options.spool_directory,
                      .environment = std::move(environment),
                      .arguments = [&](const std::string& spool) {
                        return UploadArguments(options, followed_pid, fleet, spool);
                      }});
}

base::Status StartHangLog(const HangLog& log, pid_t followed_pid) {
  if (log.to.empty()) return {};
  return StartHangLogBeside(log, followed_pid, /*followed_fd=*/-1);
}

base::Status StartProbeConsole(const std::string& script, pid_t followed_pid) {
  if (script.empty()) return {};
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(script, error);
  const std::string named = is_file ? std::filesystem::absolute(script).string() : script;
  const auto arguments = [&](const std::string&) {
    return std::vector<std::string>{"probe", "--at-start", std::to_string(followed_pid), named};
  };
  return StartBeside({.followed_pid = followed_pid,
                      .spool_directory = {},
                      .environment = SidecarEnvironment(),
                      .arguments = arguments,
                      .keeps_stderr = true});
}

base::Result<base::OwnedFd> StartHangLogOfMany(const HangLog& log) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return base::IoError("no socket for the log of hangs", errno);
  base::OwnedFd adding(ends[0]);
  const base::OwnedFd taking(ends[1]);
  base::Status status = StartHangLogBeside(log, getpid(), taking.get());
  if (!status.ok()) return status;
  return adding;
}

void AddToHangLog(const base::OwnedFd& log, pid_t pid) {
  const auto added = static_cast<uint32_t>(pid);
  send(log.get(), &added, sizeof added, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace lagwatch::tools
