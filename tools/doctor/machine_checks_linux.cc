// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "base/text.h"
#include "sdk/outside/kernel_waits.h"
#include "sdk/preload/environment/program_file.h"
#include "tools/doctor/checkup.h"
#include "tools/process_files.h"
#include "tools/run/checks.h"
#include "tools/run/preload.h"
#include "tools/watch/watchers.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

Check CheckKernel() {
  utsname system{};
  uname(&system);
  const std::string name = std::string(system.sysname) + " " + system.release + ", " + system.machine;
  int major = 0;
  int minor = 0;
  std::sscanf(system.release, "%d.%d", &major, &minor);
  constexpr int kMajor = 5;  // openat2(2)
  constexpr int kMinor = 6;
  if (major > kMajor || (major == kMajor && minor >= kMinor)) return Check::Ok("kernel", name);
  return Check::Limited("kernel", name + ": before Linux 5.6 files of containers are not found");
}

// By a program that every system has.
Check CheckRun() {
  constexpr char kShell[] = "/bin/sh";
  const fs::path library = FindPreloadLibrary();
  if (library.empty())
    return Check::No(
        "run", std::string(kPreloadLibraryName) + " is not beside this program: install lagwatch again");
  const std::string loader = sdk::ReadProgramFile(AT_FDCWD, kShell).interpreter;
  return Check::Of("run", CheckCanPreload(kShell, library),
                   "`lagwatch run` works for programs of this machine (glibc " + GlibcOf(loader) + ")");
}

bool HasCapability(int number) {
  const auto effective = base::ParseNumber<uint64_t>(StatusField(getpid(), "CapEff"), 16);
  return effective && (*effective >> number & 1) != 0;
}

// Whether other processes may be looked into, by yama(LSM) and ptrace(2).
Check CheckOthers() {
  constexpr char kName[] = "ptrace";
  constexpr char kAsRoot[] = "sudo lagwatch watch PID";
  const std::string text = LineIn("/proc/sys/kernel/yama/ptrace_scope");
  const int scope = base::ParseNumber<int>(text).value_or(0);
  const std::string set = "kernel.yama.ptrace_scope is " + text;
  if (scope >= 3)
    return Check::No(kName, set + ": until the next boot no process can be attached to or watched",
                     "lagwatch run -- PROGRAM");
  if (HasCapability(CAP_SYS_PTRACE))
    return Check::Ok(kName, "CAP_SYS_PTRACE: programs of other users can be watched, too");
  if (scope > 0)
    return Check::Limited(kName, set + ": only root can attach to programs and watch them", kAsRoot);
  if (geteuid() == 0)
    return Check::Limited(kName,
                          "this root has no CAP_SYS_PTRACE, as in most containers: programs of other users "
                          "cannot be watched");
  return Check::Ok(kName, "this user's programs can be watched; others need sudo");
}

Check CheckReturns() {
  const std::string note = NoteOnReturns();
  if (note.empty()) return Check::Ok("perf", "returns of waits are counted by breakpoints");
  const bool is_forbidden =
      base::ParseNumber<int>(LineIn("/proc/sys/kernel/perf_event_paranoid")).value_or(0) > 2;
  return Check::Limited("perf", note, is_forbidden ? "sudo sysctl kernel.perf_event_paranoid=2" : "");
}

Check CheckBpf() {
  const auto loaded = sdk::KernelWaits::Load();
  if (loaded.ok()) return Check::Ok("bpf", "`lagwatch watch --bpf` works");
  return Check::Limited("bpf", "`lagwatch watch --bpf` does not work: " + loaded.status().message(),
                        geteuid() == 0 ? "" : "sudo lagwatch watch --bpf PID");
}

// The space where the directory is, or will be; none if that is not known.
std::optional<uintmax_t> SpaceFor(fs::path directory) {
  std::error_code error;
  while (!fs::exists(directory, error) && directory != directory.parent_path())
    directory = directory.parent_path();
  const fs::space_info space = fs::space(directory, error);
  return error ? std::nullopt : std::optional(space.available);
}

Check CheckSpool(const std::string& directory) {
  constexpr uintmax_t kMiB = 1 << 20;
  constexpr uintmax_t kLittleBytes = 64 * kMiB;
  const base::Status status = CheckCanKeepReports(directory);
  if (!status.ok()) return Check::No("spool", status.message(), "lagwatch run --spool DIRECTORY -- PROGRAM");
  const std::optional<uintmax_t> available = SpaceFor(directory);
  if (!available) return Check::Ok("spool", directory);
  const std::string text = directory + ", " + std::to_string(*available / kMiB) + " MiB free";
  if (*available >= kLittleBytes) return Check::Ok("spool", text);
  return Check::Limited("spool", text + ": reports that find no room are dropped",
                        "lagwatch run --spool DIRECTORY -- PROGRAM");
}

}  // namespace

CheckGroup CheckMachine(const std::string& spool_directory) {
  return {
      "This machine",
      {CheckKernel(), CheckRun(), CheckOthers(), CheckReturns(), CheckBpf(), CheckSpool(spool_directory)}};
}

}  // namespace lagwatch::tools
