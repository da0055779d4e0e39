// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <vector>

#include "base/owned_fd.h"
#include "base/system/file_calls.h"
#include "report/format/report_encoder.h"
#include "report/format/usage_encoder.h"
#include "sdk/run/exit_analysis.h"
#include "sdk/run/run_facts.h"

namespace lagwatch::sdk {
namespace {

constexpr time_t kUnfinishedLifeS = 3600;

bool IsRunName(std::string_view name, std::string_view suffix) {
  return name.size() == base::kUuidTextSize + suffix.size() && name.ends_with(suffix) &&
         base::TryParseUuid(name.substr(0, base::kUuidTextSize)).has_value();
}

// Newest first.
std::vector<std::string> NamesIn(int directory_fd) {
  std::vector<std::string> names;
  base::ForEachNameIn(directory_fd, [&](const char* name) {
    if (IsRunName(name, kRunSuffix) || IsRunName(name, kNewRunSuffix)) names.emplace_back(name);
    return true;
  });
  std::sort(names.rbegin(), names.rend());
  return names;
}

// A record that was not finished within an hour is abandoned.
bool IsAbandonedByItsMaker(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && std::time(nullptr) - status.st_mtime > kUnfinishedLifeS;
}

// Locks the record against other readers. Returns false if its run goes on, or if another process
// reports its end.
bool TryLock(int fd) {
  struct stat status {};
  bool is_locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  return is_locked && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink != 0;
}

std::string ReadRecord(int fd) {
  std::string bytes(RunPage::kBytes + 1, '\0');  // one too many shows a file that is too long
  ssize_t size = pread(fd, bytes.data(), bytes.size(), 0);
  bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return bytes;
}

bool IsOwnProcess(const RunFacts& run, const RunFacts& now) {
  return run.boot_id == now.boot_id && run.pid_namespace == now.pid_namespace && run.pid == now.pid &&
         run.start_ticks != 0 && run.start_ticks == now.start_ticks;
}

// If /proc does not say, no reboot may be assumed.
bool IsOfOtherBoot(const RunFacts& run, const RunFacts& now) {
  return run.boot_id != base::Uuid{} && now.boot_id != base::Uuid{} && run.boot_id != now.boot_id;
}

enum class Lock : uint8_t { kIsFree, kIsUnknown };

bool IsOver(const RunRecord& record, const RunFacts& now, Lock lock) {
  const RunFacts& run = record.run;
  bool is_of_other_machine = run.machine != 0 && now.machine != 0 && run.machine != now.machine;
  if (is_of_other_machine) return false;
  if (record.has_ended || IsOfOtherBoot(run, now) || IsOwnProcess(run, now)) return true;
  // The processes of another container are not visible here: then the lock decides.
  if (run.pid_namespace != now.pid_namespace || run.start_ticks == 0)
    return lock == Lock::kIsFree && record.keeps_lock;
  return ProcessStartTicks(run.pid) != run.start_ticks;
}

bool IsOfSameProgram(const RunFacts& run, const RunFacts& now) {
  auto cut = [](const std::string& text, size_t size) { return std::string_view(text).substr(0, size); };
  return run.app == cut(now.app, sizeof RunHeader::app) &&
         run.program == cut(now.program, sizeof RunHeader::program);
}

bool HasChanged(const std::string& before, std::string_view now, size_t max_size) {
  now = now.substr(0, max_size);
  return !before.empty() && !now.empty() && before != now;
}

int64_t Increase(int64_t before, int64_t now) { return before < 0 || now < before ? -1 : now - before; }

policies::ExitEvidence EvidenceOf(const RunRecord& record, const RunFacts& now) {
  const RunFacts& run = record.run;
  policies::ExitEvidence evidence;
  evidence.has_ended_cleanly = record.has_ended;
  evidence.has_replaced_itself = IsOwnProcess(run, now);
  evidence.crash_signal = record.crash_signal;
  evidence.has_hung_since_crash = record.has_hung_since_crash();
  // A dispatch that was short when the crash came, and ended soon after, counts as a hang that it
  // came in, too.
  evidence.was_in_hang_at_crash =
      record.crash_moment == CrashMoment::kInHang || (record.crash_moment == CrashMoment::kOutsideHang &&
                                                      record.was_in_hang() && !evidence.has_hung_since_crash);
  evidence.was_asked_to_stop = record.was_asked_to_stop;
  evidence.was_in_hang = record.was_in_hang();
  evidence.has_rebooted = IsOfOtherBoot(run, now);
  evidence.has_changed = IsOfSameProgram(run, now) &&
                         (HasChanged(run.build_id, now.build_id, sizeof RunHeader::build_id) ||
                          HasChanged(run.app_version, now.app_version, sizeof RunHeader::app_version));
  if (evidence.has_rebooted) return evidence;
  bool has_same_group = run.oom_group_inode != 0 && OomGroupInode(run.oom_group_path) == run.oom_group_inode;
  if (has_same_group) {
    evidence.oom_kills_in_group =
        Increase(record.oom_kills_in_group, OomKillsInGroup(run.oom_group_path.c_str()));
  }
  evidence.oom_kills_on_machine = Increase(record.oom_kills_on_machine, OomKillsOnMachine());
  return evidence;
}

}  // namespace

report::RunEnd EndedRun::ToRunEnd() const {
  auto wall_ms = [](int64_t ms) { return static_cast<uint64_t>(std::max<int64_t>(ms, 0)); };
  return {.session_id = record.run.session_id,
          .reason = reason,
          .signal = record.crash_signal,
          .report_id = record.hang_id,
          .hang_ns = record.was_in_hang() ? static_cast<uint64_t>(record.hang_ns) : 0,
          .loop = record.hang_loop,
          .run_start_wall_ms = wall_ms(record.run.start_wall_ms),
          .last_seen_wall_ms = wall_ms(record.seen_wall_ms),
          .scene = record.scene,
          .app = record.run.app,
          .app_version = record.run.app_version,
          .user = record.run.user};
}

std::string EndedRun::EncodeUsage() const {
  constexpr size_t kMaxBytes = 4096;
  if (record.usage_id == base::Uuid{}) return {};
  std::string bytes(kMaxBytes, '\0');
  report::FixedBuffer buffer(bytes.data(), bytes.size());
  report::UsageEncoder encoder({.id = record.usage_id,
                                .session_id = record.run.session_id,
                                .app = record.run.app,
                                .app_version = record.run.app_version,
                                .user = record.run.user,
                                .begin_wall_ms = record.usage_begin_wall_ms,
                                .end_wall_ms = record.usage_end_wall_ms},
                               &buffer);
  encoder.AddLoop(record.usage_loop, record.usage);
  for (size_t i = 0; i < record.suppressed.size(); ++i)
    encoder.AddSuppressed(static_cast<policies::SuppressedReason>(i), record.suppressed[i]);
  return encoder.ok() ? std::string(buffer.content()) : std::string();
}

std::string EndedRun::EncodeHangEnd() const {
  using Reason = policies::ExitReason;
  constexpr Reason kEndsOfHangs[] = {Reason::kCleanExit, Reason::kCrash, Reason::kCrashInHang,
                                     Reason::kHangInCrash};
  if (!record.was_in_hang() || std::ranges::find(kEndsOfHangs, reason) == std::end(kEndsOfHangs)) return {};
  char bytes[report::kMaxHangEndBytes];
  report::FixedBuffer buffer(bytes, sizeof bytes);
  const bool is_encoded = report::EncodeHangEnd(record.hang_id, record.hang_ns, &buffer);
  return is_encoded ? std::string(buffer.content()) : std::string();
}

namespace {

// Completes a run whose record was read. False if it goes on.
bool TryComplete(const RunFacts& now, Lock lock, EndedRun* run) {
  if (!IsOver(run->record, now, lock)) return false;
  if (run->record.run.is_masked) UnmaskRun(now, &run->record.run);
  run->is_of_same_program = IsOfSameProgram(run->record.run, now);
  run->reason = policies::ClassifyExit(EvidenceOf(run->record, now));
  return true;
}

// It has said that it ends, but may be in its last handlers for a while.
bool IsStillThere(const RunFacts& run, const RunFacts& now) {
  const bool is_visible = run.boot_id == now.boot_id && run.pid_namespace == now.pid_namespace;
  return is_visible && run.start_ticks != 0 && ProcessStartTicks(run.pid) == run.start_ticks;
}

base::OwnedFd OpenRunDirectory(const std::string& spool_directory) {
  const std::string path = spool_directory + "/" + kRunDirectoryName;
  return base::OwnedFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

void VisitEndedRuns(const std::string& spool_directory, const RunFacts& now,
                    const std::function<void(const EndedRun&)>& look) {
  const base::OwnedFd directory = OpenRunDirectory(spool_directory);
  if (directory.get() < 0) return;
  for (const std::string& name : NamesIn(directory.get())) {
    if (!name.ends_with(kRunSuffix)) continue;
    const base::OwnedFd fd(
        openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    EndedRun run;
    const bool is_record =
        fd.get() >= 0 && ParseRunRecord(ReadRecord(fd.get()), &run.record) == RunFile::kRecord;
    if (is_record && !IsStillThere(run.record.run, now) && TryComplete(now, Lock::kIsUnknown, &run))
      look(run);
  }
}

void TakeEndedRuns(const std::string& spool_directory, const RunFacts& now,
                   const std::function<bool(const EndedRun&)>& visit) {
  size_t count = 0;
  RemoveEndedRuns(spool_directory, now,
                  [&](const EndedRun& run) { return ++count > kMaxEndedRuns || visit(run); });
}

void RemoveEndedRuns(const std::string& spool_directory, const RunFacts& now,
                     const std::function<bool(const EndedRun&)>& is_to_go) {
  const base::OwnedFd directory = OpenRunDirectory(spool_directory);
  if (directory.get() < 0) return;
  for (const std::string& name : NamesIn(directory.get())) {
    // It is opened without blocking, so that a FIFO in a file's place cannot hang us.
    base::OwnedFd fd(openat(directory.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() < 0 || !TryLock(fd.get())) continue;
    auto remove = [&] { unlinkat(directory.get(), name.c_str(), 0); };
    if (name.ends_with(kNewRunSuffix)) {
      if (IsAbandonedByItsMaker(fd.get())) remove();
      continue;
    }
    EndedRun run;
    RunFile kind = ParseRunRecord(ReadRecord(fd.get()), &run.record);
    if (kind == RunFile::kDamaged) remove();
    if (kind != RunFile::kRecord || !TryComplete(now, Lock::kIsFree, &run)) continue;
    if (is_to_go(run)) remove();
  }
}

}  // namespace lagwatch::sdk
