// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/process/process.h"
#include "base/system/seccomp.h"
#include "base/text.h"
#include "sdk/outside/outside_watch.h"
#include "sdk/outside/script_runtimes.h"
#include "tools/containers.h"
#include "tools/doctor/checkup.h"
#include "tools/doctor/program_facts.h"
#include "tools/inject/mappings.h"
#include "tools/process_files.h"
#include "tools/read/table.h"
#include "tools/run/checks.h"
#include "tools/run/java.h"
#include "tools/run/jvm_attach.h"
#include "tools/run/preload.h"
#include "tools/run/preload_attach.h"
#include "tools/run/target_spool.h"
#include "tools/watch/targets.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using sdk::ProgramKind;

struct RunningProgram {
  pid_t pid = 0;
  std::string path = {};  // of its program, as the process names it
  ProgramFacts facts = {};
  std::vector<std::string> libraries = {};  // as the process names them
  bool is_apart = false;                    // it sees other files
  bool is_watched = false;                  // by a watchdog of lagwatch's

  std::string id() const { return std::to_string(pid); }
};

// The files that the process has code of, without its program's.
std::vector<std::string> LibrariesOf(pid_t pid, const std::string& program) {
  std::set<std::string> paths;
  for (const Mapping& mapping : ReadMappings(pid))
    if (mapping.is_code && mapping.path.starts_with('/') && mapping.path != program)
      paths.insert(mapping.path);
  return {paths.begin(), paths.end()};
}

RunningProgram LookInto(pid_t pid) {
  RunningProgram running{.pid = pid};
  std::error_code error;
  const fs::path exe = ProcessFolder(pid) / "exe";
  running.path = fs::read_symlink(exe, error);
  running.is_apart = !SeesSameFile(pid, FindPreloadLibrary());
  const bool is_here = !running.is_apart && fs::exists(running.path, error);
  running.facts = ProgramFacts::Of(is_here ? running.path : exe.string(),
                                   running.is_apart ? ProcessFolder(pid) / "root" : "");
  running.libraries = LibrariesOf(pid, running.path);
  running.is_watched = HasWatchdog(pid);
  return running;
}

Check CheckRights(pid_t pid) {
  const base::Status status = CheckTarget(pid);
  const std::string user = StatusField(pid, "Uid");
  const std::string owner = user.substr(0, user.find('\t'));
  if (status.ok())
    return Check::Ok("rights", IsOtherUsers(pid) ? "user " + owner + "'s, which this user may look into"
                                                 : "this user's own");
  return Check::No("rights", status.message());
}

Check CheckWatched(const RunningProgram& running) {
  if (!running.is_watched) return Check::Ok("watched", "not yet");
  return Check::Ok("watched",
                   "has lagwatch's watchdog: `lagwatch dump " + running.id() + "` requests a report");
}

Check CheckConfinement(pid_t pid) {
  const base::SeccompState state = base::ReadSeccompOf((ProcessFolder(pid) / "status").c_str());
  if (state.filters == 0) return Check::Ok("seccomp", "no filter");
  if (state == base::ReadSeccomp()) return Check::Ok("seccomp", "the filters that lagwatch itself has");
  return Check::Limited("seccomp", "filters of its own, which may not allow lagwatch's system calls",
                        "lagwatch watch " + std::to_string(pid));
}

Check CheckPlace(const RunningProgram& running) {
  if (!running.is_apart) return Check::Ok("container", "sees the files of this machine");
  const std::string own_id = std::to_string(OwnPidOf(running.pid));
  return Check::Ok("container",
                   "sees other files than this command, as in a container (there its process id is " +
                       own_id + "): its reports are kept there");
}

Check CheckLanguages(pid_t pid) {
  const sdk::ScriptRuntimes runtimes = sdk::FindScriptRuntimes(base::Process::Other(pid));
  const std::string readable = Join(runtimes.readable, ", ");
  if (runtimes.unreadable.empty())
    return Check::Ok("languages",
                     readable.empty() ? "native code alone" : "frames of " + readable + " are read");
  return Check::Limited("languages", "frames of " + runtimes.unreadable +
                                         " stay native: see docs/languages.md" +
                                         (readable.empty() ? "" : "; those of " + readable + " are read"));
}

// glibc's surplus for libraries that are loaded late: a constant, and what a tunable says (dl-tls.c).
uint64_t ThreadLocalRoomOf(pid_t pid) {
  constexpr uint64_t kFixedBytes = 1152;
  constexpr uint64_t kTunedBytes = 512;
  constexpr std::string_view kTunable = "glibc.rtld.optional_static_tls=";
  const std::string tunables = VariableOf(pid, "GLIBC_TUNABLES");
  const size_t at = tunables.find(kTunable);
  if (at == std::string::npos) return kFixedBytes + kTunedBytes;
  const std::string_view rest = std::string_view(tunables).substr(at + kTunable.size());
  return kFixedBytes + base::ParseNumber<uint64_t>(rest.substr(0, rest.find(':'))).value_or(kTunedBytes);
}

Check CheckThreadLocals(pid_t pid) {
  const uint64_t needed = ThreadLocalBytesOf(FindPreloadLibrary());
  const uint64_t room = ThreadLocalRoomOf(pid);
  const std::string text = std::to_string(needed) + " of the " + std::to_string(room) +
                           " bytes that glibc reserves for libraries that come late";
  if (needed <= room) return Check::Ok("static TLS", "attach needs " + text + ", if no other has taken them");
  return Check::No("static TLS", "attach needs more than there is: " + text,
                   "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 PROGRAM");
}

Check CheckAttach(const RunningProgram& running) {
  if (running.is_watched) return Check::Ok("attach", "not needed: it is watched");
  if (IsJvm(running.pid))
    return Check::Of("attach", CheckCanAttachJvm(running.pid),
                     "`lagwatch attach " + running.id() + "` loads the JVM's agent");
  base::Status status = CheckCanAttach(running.pid);
  if (status.ok()) {
    const fs::path loader = running.facts.root + running.facts.file.interpreter;
    status = CheckGlibc(loader, FindPreloadLibrary());
  }
  return Check::Of("attach", status, "lagwatch attach " + running.id());
}

Check CheckWatch(const RunningProgram& running) {
  if (running.is_watched) return Check::Ok("watch", "not needed: it is watched");
  base::Status status = CheckWordSize(running.pid);
  if (status.ok())
    status = sdk::OutsideWatch::Look(base::Process::Other(running.pid), {.is_chosen = true}).status();
  return Check::Of("watch", status, "lagwatch watch " + running.id());
}

Check CheckRestart(const RunningProgram& running) {
  if (running.is_apart)
    return Check::Limited("run", "from its next start on, where lagwatch is installed in its container");
  return Check::Of("run", CheckCanPreload(running.facts.path, FindPreloadLibrary()),
                   "from its next start on: lagwatch run -- " + running.path);
}

}  // namespace

CheckGroup CheckProcess(pid_t pid) {
  CheckGroup group{.title = "Process " + std::to_string(pid) + " (" + Printable(CommandOf(pid)) + ")",
                   .checks = {CheckRights(pid)}};
  if (group.checks.front().result == CheckResult::kNo) return group;
  const RunningProgram running = LookInto(pid);
  const auto add = [&](Check check) { group.checks.push_back(std::move(check)); };
  add(Check::Ok("program", running.path + ", " + running.facts.KindText()));
  add(CheckWatched(running));
  add(CheckConfinement(pid));
  add(CheckPlace(running));
  if (auto sanitizer = CheckSanitizer(running.facts)) add(*std::move(sanitizer));
  add(CheckLanguages(pid));
  add(CheckSymbols(running.facts, running.libraries));
  if (!running.facts.CanLoadNothing() && !running.is_watched && !IsJvm(pid)) add(CheckThreadLocals(pid));
  add(CheckRestart(running));
  add(CheckAttach(running));
  add(CheckWatch(running));
  return group;
}

CheckGroup CheckProgram(const std::string& path) {
  const ProgramFacts facts = ProgramFacts::Of(path);
  CheckGroup group{.title = "Program " + Printable(path), .checks = {Check::Ok("program", facts.KindText())}};
  const auto add = [&](Check check) { group.checks.push_back(std::move(check)); };
  if (auto sanitizer = CheckSanitizer(facts)) add(*std::move(sanitizer));
  if (facts.file.kind != ProgramKind::kScript) add(CheckSymbols(facts, {}));
  const std::string by_agent = IsJava(path) ? ", which has the JVM load the agent" : "";
  add(Check::Of("run", CheckCanPreload(path, FindPreloadLibrary()), "lagwatch run -- " + path + by_agent));
  if (facts.CanLoadNothing()) {
    add(Check::No("attach", "nothing can be loaded into " + facts.KindText(), "lagwatch watch PID"));
  } else {
    add(Check::Ok("attach", "`lagwatch doctor PID` says it once the program runs"));
  }
  if (facts.file.kind == ProgramKind::kOtherMachine) {
    add(Check::No("watch", "lagwatch knows neither the calls nor the stacks of " + facts.KindText()));
  } else {
    add(Check::Ok("watch", "lagwatch watch PID"));
  }
  return group;
}

}  // namespace lagwatch::tools
