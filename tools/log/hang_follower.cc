// SPDX-License-Identifier: Apache-2.0
#include "tools/log/hang_follower.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/process/env.h"
#include "sdk/run/run_facts.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

// Whether something was frozen: reports of CPU use and of slow dispatches, and dumps, are read later.
bool IsFreezeKind(policies::HangKind kind) {
  using policies::HangKind;
  constexpr HangKind kOthers[] = {HangKind::kCpu,    HangKind::kCpuAverage, HangKind::kDump,
                                  HangKind::kFrames, HangKind::kSlow,       HangKind::kIo};
  return std::ranges::find(kOthers, kind) == std::end(kOthers);
}

}  // namespace

std::vector<sdk::RunFacts> LivingRuns(const std::string& spool_directory, pid_t run_pid) {
  std::vector<sdk::RunFacts> runs;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fs::path(spool_directory) / sdk::kRunDirectoryName, error)) {
    if (entry.path().extension() != sdk::kRunSuffix) continue;
    sdk::RunRecord record;
    std::string content;
    const bool is_record = base::SystemEnv().ReadAll(entry.path(), &content) == 0 &&
                           sdk::ParseRunRecord(content, &record) == sdk::RunFile::kRecord &&
                           !record.has_ended;
    if (!is_record) continue;
    // Its id may be another process's by now.
    const bool is_same =
        record.run.start_ticks == 0 || sdk::ProcessStartTicks(record.run.pid) == record.run.start_ticks;
    const auto wanted = static_cast<uint32_t>(run_pid);
    if (is_same && (record.run.run_pid == wanted || record.run.pid == wanted))
      runs.push_back(std::move(record.run));
  }
  return runs;
}

std::set<uint32_t> PidsOfRun(const std::string& spool_directory, pid_t run_pid) {
  std::set<uint32_t> pids;
  for (const sdk::RunFacts& run : LivingRuns(spool_directory, run_pid)) pids.insert(run.pid);
  return pids;
}

HangFollower::HangFollower(std::string spool_directory, int64_t since_wall_ms,
                           std::function<bool(const report::Report&)> wants)
    : directory_(spool_directory),
      since_wall_ms_(since_wall_ms),
      wants_(std::move(wants)),
      reader_(&base::SystemEnv(), std::move(spool_directory)),
      changes_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool HangFollower::Await(int fd, int timeout_ms) {
  constexpr int kWithoutNoticeMs = 100;
  if (!is_heard_ && changes_) {
    is_heard_ =
        inotify_add_watch(changes_.get(), directory_.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO) >= 0;
    if (is_heard_) return false;  // it may have changed before
  }
  if (!is_heard_) timeout_ms = timeout_ms < 0 ? kWithoutNoticeMs : std::min(timeout_ms, kWithoutNoticeMs);
  pollfd waits[] = {{.fd = fd, .events = POLLIN, .revents = 0},
                    {.fd = is_heard_ ? changes_.get() : -1, .events = POLLIN, .revents = 0}};
  poll(waits, std::size(waits), timeout_ms);
  if (waits[1].revents != 0) {
    alignas(inotify_event) char events[4096];
    while (read(changes_.get(), events, sizeof events) > 0) {
    }
    is_heard_ = fs::exists(directory_);  // else it comes again, as another one
  }
  return waits[0].revents != 0;
}

void HangFollower::Look() {
  const auto names = reader_.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return;  // there was none yet
  for (const std::string& name : *names) {
    std::error_code error;
    const uintmax_t size_bytes = fs::file_size(directory_ / name, error);
    if (error || std::exchange(sizes_[name], size_bytes) == size_bytes) continue;
    if (const auto segment = reader_.Read(name); segment.ok()) Add(*segment);
  }
  std::erase_if(sizes_,
                [&](const auto& size) { return std::ranges::find(*names, size.first) == names->end(); });
}

void HangFollower::Add(const report::Segment& segment) {
  for (const report::OwnedRecord& record : segment.records) {
    if (record.type != report::RecordType::kReport) continue;
    const auto report = report::DecodeReport(record.payload);
    if (!report.ok() || !IsFreezeKind(report->kind)) continue;
    const int64_t made_wall_ms = report->start_wall_ms + report->elapsed_ns / base::kNsPerMs;
    const base::Uuid hang = report->hang_id == base::Uuid{} ? report->id : report->hang_id;
    if (made_wall_ms < since_wall_ms_ || known_.contains(hang) || !wants_(*report)) continue;
    // A later report of the same hang is another one; the same report may have come to have names.
    const auto [at, is_new] = found_.try_emplace(hang, Hang{report->id, record.payload});
    if (!is_new && at->second.report_id == report->id) at->second.report = record.payload;
  }
}

std::vector<HangFollower::Hang> HangFollower::Take() {
  std::vector<Hang> hangs;
  for (auto& [hang, first] : found_) {
    known_.insert(hang);
    hangs.push_back(std::move(first));
  }
  found_.clear();
  return hangs;
}

}  // namespace lagwatch::tools
