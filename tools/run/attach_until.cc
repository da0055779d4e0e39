// SPDX-License-Identifier: Apache-2.0
#include "tools/run/attach_until.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/text.h"
#include "base/uuid.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kLongestHangNs = 10 * base::kNsPerSecond;

// The hangs of a process whose reports come into a spool from now on.
class NewHangs {
 public:
  NewHangs(pid_t pid, const std::string& spool_directory)
      : pid_(OwnPidOf(pid)), directory_(spool_directory), reader_(&base::SystemEnv(), spool_directory) {
    Look();
    known_ = std::exchange(reports_, {});
  }

  // Reads the segments that have grown.
  void Look() {
    const auto names = reader_.List(report::SpoolReader::Include::kLiveToo);
    if (!names.ok()) return;  // there was none yet
    for (const std::string& name : *names) {
      std::error_code error;
      const uintmax_t size_bytes = std::filesystem::file_size(directory_ / name, error);
      if (error || std::exchange(sizes_[name], size_bytes) == size_bytes) continue;
      if (const auto segment = reader_.Read(name); segment.ok()) Add(*segment);
    }
  }
  bool has_begun() const { return !reports_.empty(); }
  bool has_ended() const {
    return std::ranges::any_of(reports_, [&](const base::Uuid& id) { return ended_.contains(id); });
  }

 private:
  void Add(const report::Segment& segment) {
    for (const report::OwnedRecord& record : segment.records) {
      if (record.type == report::RecordType::kReport) {
        const auto report = report::DecodeReport(record.payload);
        if (report.ok() && report->pid == static_cast<uint32_t>(pid_) && !known_.contains(report->id))
          reports_.insert(report->id);
      } else if (record.type == report::RecordType::kHangEnd) {
        if (const auto end = report::DecodeHangEnd(record.payload); end.ok()) ended_.insert(end->report_id);
      }
    }
  }

  pid_t pid_;  // as the process itself knows it, and its reports
  std::filesystem::path directory_;
  report::SpoolReader reader_;
  std::map<std::string, uintmax_t> sizes_;
  std::set<base::Uuid> known_;
  std::set<base::Uuid> reports_;
  std::set<base::Uuid> ended_;  // the reports of ended hangs, of all processes
};

}  // namespace

base::Result<AttachEnd> AttachEnd::Parse(const std::string& text) {
  if (text.empty()) return AttachEnd{};
  if (text == "hang") return AttachEnd{.kind = EndKind::kHang};
  if (text == "exit") return AttachEnd{.kind = EndKind::kExit};
  constexpr std::string_view kUnits = "smh";
  constexpr int64_t kSeconds[] = {1, 60, 3600};
  const size_t unit = kUnits.find(text.back());
  const auto number = base::ParseNumber<uint32_t>(text.substr(0, text.size() - 1));
  if (unit == std::string_view::npos || !number || *number == 0)
    return base::Status(base::StatusCode::kInvalid,
                        "--until takes hang, exit, or a time such as 30s, 10m or 2h, not '" + text + "'");
  return AttachEnd{.kind = EndKind::kTime, .after_ns = *number * kSeconds[unit] * base::kNsPerSecond};
}

bool AwaitAttachEnd(pid_t pid, const AttachEnd& end, const std::string& spool_directory) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200 * base::kNsPerMs};
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  pollfd process{.fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), .events = POLLIN, .revents = 0};
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const bool is_for_hang = end.kind == AttachEnd::EndKind::kHang;
  std::optional<NewHangs> hangs;
  if (is_for_hang) hangs.emplace(pid, spool_directory);
  int64_t hang_ns = 0;
  bool has_ended = process.fd < 0;
  while (!has_ended) {
    has_ended = poll(&process, 1, 0) > 0;
    if (has_ended || sigtimedwait(&signals, nullptr, &kPause) > 0) break;
    const int64_t now_ns = base::SystemClock().MonoNs();
    if (end.kind == AttachEnd::EndKind::kTime && now_ns - begin_ns >= end.after_ns) break;
    if (!is_for_hang) continue;
    hangs->Look();
    if (!hangs->has_begun()) continue;
    if (hang_ns == 0) hang_ns = now_ns;
    if (hangs->has_ended() || now_ns - hang_ns > kLongestHangNs) break;
  }
  if (process.fd >= 0) close(process.fd);
  return has_ended;
}

}  // namespace lagwatch::tools
