// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/klog.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <optional>
#include <vector>

#include "base/owned_fd.h"
#include "base/process/env.h"
#include "base/process/proc_file.h"
#include "base/system/file_calls.h"
#include "sdk/run/run_end.h"
#include "sdk/run/run_facts.h"
#include "sdk/run/run_record.h"

namespace lagwatch::sdk {
namespace {

constexpr char kDumps[] = "/var/lib/systemd/coredump";
// The inode of the machine's first namespace of processes (PROC_PID_INIT_INO): ids in logs are of that one.
constexpr uint64_t kFirstNamespace = 0xeffffffc;

struct Trap {
  std::string_view text;  // behind the process's number
  int signal;
};
// As x86-64 logs them. A protection fault is of no address that is known.
constexpr Trap kTraps[] = {
    {"]: segfault at ", SIGSEGV},       {"] general protection fault ", SIGSEGV},
    {"] trap invalid opcode ", SIGILL}, {"] trap divide error ", SIGFPE},
    {"] trap int3 ", SIGTRAP},          {"] trap stack segment ", SIGBUS},
};

// In s, of a line "<6>[12345.678901] …"; none without one.
std::optional<int64_t> LogTimeOf(std::string_view line) {
  const size_t begin = line.find('[');
  if (begin == std::string_view::npos || begin > sizeof "<123>") return std::nullopt;
  line.remove_prefix(begin + 1);
  uint64_t seconds = 0;
  return base::ConsumeDecimal(&line, &seconds) ? std::optional(static_cast<int64_t>(seconds)) : std::nullopt;
}

// Its end; empty where it may not be read.
std::string ReadLog() {
  constexpr int kReadAll = 3;  // SYSLOG_ACTION_READ_ALL
  constexpr int kBytes = 256 * 1024;
  std::string log(kBytes, '\0');
  const int size = klogctl(kReadAll, log.data(), kBytes);
  log.resize(static_cast<size_t>(std::max(size, 0)));
  return log;
}

std::string HexOf(const base::Uuid& id) {
  std::string text = base::ToString(id);
  std::erase(text, '-');
  return text;
}

bool MayHaveCrashed(const RunRecord& record, const RunFacts& now) {
  const RunFacts& run = record.run;
  const bool is_of_here = run.boot_id == now.boot_id && run.machine == now.machine &&
                          run.pid_namespace == kFirstNamespace && now.pid_namespace == kFirstNamespace;
  const bool is_told = record.has_ended || record.crash_signal != 0;
  return is_of_here && !is_told && !run.is_masked && run.start_ticks != 0 &&
         ProcessStartTicks(run.pid) != run.start_ticks;
}

}  // namespace

int FindCrashInLog(std::string_view log, std::string_view name, uint32_t pid, int64_t start_s) {
  constexpr size_t kMostNameBytes = 15;
  const std::string process = std::string(name.substr(0, kMostNameBytes)) + "[" + std::to_string(pid);
  int signal = 0;
  while (!log.empty() && !name.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    const size_t at = line.find(process);
    if (at == std::string_view::npos) continue;
    const bool is_begin = at >= 2 && line[at - 1] == ' ' && (line[at - 2] == ']' || line[at - 2] == ':');
    const auto time_s = LogTimeOf(line);
    if (!is_begin || !time_s || *time_s + 1 < start_s) continue;
    for (const Trap& trap : kTraps) {
      if (line.substr(at + process.size()).starts_with(trap.text)) signal = trap.signal;
    }
  }
  return signal;
}

// Files "core.NAME.UID.BOOT.PID.TIME…" with the signal as an attribute: systemd-coredump(8).
int FindCrashInDumps(const std::string& directory, const std::string& boot_id, uint32_t pid) {
  const base::OwnedFd folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return 0;
  const std::string process = "." + boot_id + "." + std::to_string(pid) + ".";
  int signal = 0;
  base::ForEachNameIn(folder.get(), [&](const char* name) {
    const std::string_view text(name);
    if (!text.starts_with("core.") || text.find(process) == std::string_view::npos) return true;
    char value[16];
    const std::string path = directory + "/" + name;
    const ssize_t size = lgetxattr(path.c_str(), "user.coredump.signal", value, sizeof value);
    if (size > 0) std::from_chars(value, value + size, signal);
    return signal == 0;
  });
  return signal > 0 && signal < NSIG ? signal : 0;
}

int NoteKeptCrashes(const std::string& spool_directory) {
  const std::string path = spool_directory + "/" + kRunDirectoryName;
  const base::OwnedFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.get() < 0) return 0;
  const RunFacts now = SystemRunFacts();
  std::vector<RunFacts> runs;
  base::ForEachNameIn(directory.get(), [&](const char* name) {
    std::string content;
    RunRecord record;
    if (std::string_view(name).ends_with(kRunSuffix) &&
        base::SystemEnv().ReadAll(path + "/" + name, &content) == 0 &&
        ParseRunRecord(content, &record) == RunFile::kRecord && MayHaveCrashed(record, now))
      runs.push_back(record.run);
    return runs.size() < 64;
  });
  if (runs.empty()) return 0;
  const std::string log = ReadLog();
  const int64_t ticks_per_s = sysconf(_SC_CLK_TCK);
  int noted = 0;
  for (const RunFacts& run : runs) {
    int signal = FindCrashInDumps(kDumps, HexOf(run.boot_id), run.pid);
    if (signal == 0) {
      const auto start_s = static_cast<int64_t>(run.start_ticks) / ticks_per_s;
      signal = FindCrashInLog(log, run.program, run.pid, start_s);
    }
    if (signal != 0)
      noted += NoteExitStatus(spool_directory, static_cast<pid_t>(run.pid), run.start_ticks, signal);
  }
  return noted;
}

}  // namespace lagwatch::sdk
