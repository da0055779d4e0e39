// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/data/subject.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "tools/process_files.h"
#include "tools/run/preload.h"
#include "tools/run/preload_attach.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

base::Status Invalid(std::string message) { return {base::StatusCode::kInvalid, std::move(message)}; }

// True also for a process that has ended but was not reaped yet.
bool IsGone(pid_t pid) {
  const std::string text = LineIn(ProcessFolder(pid) / "stat");
  const size_t name_end = text.rfind(") ");  // the name itself may hold anything
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return true;
  const char state = text[name_end + 2];
  return state == 'Z' || state == 'X';
}

}  // namespace

base::Result<std::unique_ptr<Subject>> Subject::Start(const RecordOptions& options,
                                                      const Recording& recording,
                                                      const std::function<void()>& in_child) {
  auto program = LAGWATCH_TRY(FindWatchableProgram(options.command.front()));
  // Finds errors before anything has begun.
  if (auto tried = PreparePreload(recording.ConfigFor(0)); !tried.ok())
    return Invalid(tried.status().message());
  const pid_t child = fork();
  if (child < 0) return base::IoError("cannot start a process", errno);
  if (child == 0) {
    if (in_child) in_child();
    PreparePreload(recording.ConfigFor(getpid()))->Set();
    _exit(BecomeProgram(program, options.command));
  }
  return std::unique_ptr<Subject>(
      new Subject(child, fs::path(options.command.front()).filename().string(), /*is_ours=*/true));
}

base::Result<std::unique_ptr<Subject>> Subject::Attach(const RecordOptions& options,
                                                       const Recording& recording) {
  if (base::Status status = CheckMayLookInto(options.pid); !status.ok()) return status;
  const std::string command = CommandOf(options.pid);
  struct stat process {};
  stat(ProcessFolder(options.pid).c_str(), &process);
  if (base::Status status = recording.LetIn(process.st_uid); !status.ok()) return status;
  if (base::Status status = AttachRecorder(options.pid, recording.ConfigFor(options.pid)); !status.ok())
    return status;
  return std::unique_ptr<Subject>(
      new Subject(options.pid, command.empty() ? std::to_string(options.pid) : command, /*is_ours=*/false));
}

bool Subject::HasEnded() {
  if (!has_ended_) has_ended_ = is_ours_ ? waitpid(pid_, &status_, WNOHANG) != 0 : IsGone(pid_);
  return has_ended_;
}

void Subject::Signal(int signal_number) {
  if (!HasEnded()) kill(pid_, signal_number);
}

int Subject::ExitCode() {
  if (!is_ours_) return 0;
  while (!has_ended_) has_ended_ = waitpid(pid_, &status_, 0) != -1 || errno != EINTR;
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

int ExitCodeOfRefusal(const base::Status& status) {
  constexpr int kCannot = 2;
  constexpr int kNoProgram = 127;
  return status.code() == base::StatusCode::kNotFound ? kNoProgram : kCannot;
}

}  // namespace lagwatch::tools
