// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/process/seccomp.h"
#include "tools/inject/helper_thread.h"
#include "tools/inject/loaded_libraries.h"
#include "tools/process_files.h"
#include "tools/run/preload.h"
#include "tools/run/preload_attach.h"

namespace lagwatch::tools {
namespace {

constexpr std::string_view kLibc = "libc.so.6";
constexpr std::string_view kPreloadLibrary = "liblagwatch-preload.so";
constexpr size_t kAnswerBytes = 512;

// A field of /proc/PID/status; empty if there is none.
std::string StatusField(pid_t pid, std::string_view name) {
  std::ifstream file(ProcessFolder(pid) / "status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

base::Status RefuseTarget(pid_t pid, const std::string& why) {
  const std::string number = std::to_string(pid);
  return {base::StatusCode::kInvalid, "process " + number + " (" + CommandOf(pid) + ") " + why +
                                          "; `lagwatch watch " + number + "` watches it from outside"};
}

// The entry point's answer.
base::Status Answer(const HelperThread& helper, uint64_t address, pid_t pid) {
  const auto text = LAGWATCH_TRY(helper.Read(address, kAnswerBytes));
  if (text.starts_with("+")) return {};
  return RefuseTarget(pid, text.empty() ? "gave no answer" : "cannot be attached: " + text.substr(1));
}

base::Result<uint64_t> EntryPoint(pid_t pid, std::string_view name) {
  const auto library = LoadedLibrary::Find(pid, kPreloadLibrary);
  if (!library.ok()) return library.status();
  const uint64_t address = library->AddressOf(name);
  if (address == 0)
    return base::Status(base::StatusCode::kUnavailable,
                        library->path() + " in the process is of another version: restart the program");
  return address;
}

base::Result<std::unique_ptr<HelperThread>> StartHelper(pid_t pid, const LoadedLibrary& libc) {
  auto helper = HelperThread::Start(pid, libc);
  if (helper.ok() || helper.status().code() != base::StatusCode::kUnavailable) return helper;
  return RefuseTarget(pid, "cannot be attached: " + helper.status().message());
}

// Has the process load the library, if it has not done so, and call this function of it.
base::Result<Attached> CallWithConfig(pid_t pid, const sdk::PreloadConfig& config,
                                      std::string_view function) {
  const auto environment = LAGWATCH_TRY(PreparePreload(config));
  if (base::Status status = CheckCanAttach(pid); !status.ok()) return status;
  const std::string library = environment.preload.substr(0, environment.preload.find(':'));
  const auto libc = LAGWATCH_TRY(LoadedLibrary::Find(pid, kLibc));
  auto helper = LAGWATCH_TRY(StartHelper(pid, libc));
  if (!HasLoaded(pid, kPreloadLibrary)) {
    const auto path = LAGWATCH_TRY(helper->Copy(library));
    if (base::Status status = helper->Call(libc.AddressOf("dlopen"), {path, RTLD_NOW}); !status.ok())
      return status;
    if (!HasLoaded(pid, kPreloadLibrary)) return RefuseTarget(pid, "cannot load " + library);
  }
  const auto entry = LAGWATCH_TRY(EntryPoint(pid, function));
  const auto text = LAGWATCH_TRY(helper->Copy(environment.config));
  const auto answer = LAGWATCH_TRY(helper->Copy(std::string(kAnswerBytes, '\0')));
  if (base::Status status = helper->Call(entry, {text, answer, kAnswerBytes}); !status.ok()) return status;
  if (base::Status status = Answer(*helper, answer, pid); !status.ok()) return status;
  return Attached{.stop_ns = helper->stop_ns(), .queued_ns = helper->queued_ns()};
}

}  // namespace

base::Status CheckCanAttach(pid_t pid) {
  if (base::Status status = CheckMayLookInto(pid); !status.ok()) return status;
  const std::string number = std::to_string(pid);
  const std::string state = StatusField(pid, "State");
  if (state.starts_with("T"))
    return RefuseTarget(pid, "is stopped: continue it first (kill -CONT " + number + ")");
  if (state.starts_with("Z") || state.starts_with("X"))
    return {base::StatusCode::kNotFound, "process " + number + " has ended"};
  const std::string tracer = StatusField(pid, "TracerPid");
  if (state.starts_with("t") || (!tracer.empty() && tracer != "0"))
    return RefuseTarget(pid, "is being debugged by process " + tracer + ": end that first");
  // As many filters as this program has are those of its container.
  const base::SeccompState seccomp = base::ReadSeccompOf((ProcessFolder(pid) / "status").c_str());
  if (seccomp.filters != 0 && seccomp != base::ReadSeccomp())
    return RefuseTarget(pid, "is confined by seccomp, which may not allow lagwatch's system calls");
  const auto libc = LoadedLibrary::Find(pid, kLibc);
  if (!libc.ok() && libc.status().code() == base::StatusCode::kNotFound) {
    return RefuseTarget(
        pid, "has no glibc to load with: it is linked statically, or uses another C library (musl)");
  }
  if (!libc.ok()) return RefuseTarget(pid, libc.status().message());
  return {};
}

base::Result<Attached> AttachPreload(pid_t pid, const sdk::PreloadConfig& config) {
  return CallWithConfig(pid, config, "lagwatch_attach");
}

base::Status AttachRecorder(pid_t pid, const sdk::PreloadConfig& config) {
  const auto recorded = CallWithConfig(pid, config, "lagwatch_record");
  return recorded.ok() ? base::Status() : recorded.status();
}

base::Result<Attached> DetachPreload(pid_t pid) {
  if (base::Status status = CheckCanAttach(pid); !status.ok()) return status;
  const auto libc = LAGWATCH_TRY(LoadedLibrary::Find(pid, kLibc));
  const auto detach = EntryPoint(pid, "lagwatch_detach");
  if (!detach.ok())
    return base::Status(base::StatusCode::kNotFound,
                        "process " + std::to_string(pid) + " is not attached: " + detach.status().message());
  auto helper = LAGWATCH_TRY(StartHelper(pid, libc));
  const auto answer = LAGWATCH_TRY(helper->Copy(std::string(kAnswerBytes, '\0')));
  if (base::Status status = helper->Call(*detach, {answer, kAnswerBytes}); !status.ok()) return status;
  if (base::Status status = Answer(*helper, answer, pid); !status.ok()) return status;
  return Attached{.stop_ns = helper->stop_ns(), .queued_ns = helper->queued_ns()};
}

}  // namespace lagwatch::tools
