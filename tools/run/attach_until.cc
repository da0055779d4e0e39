// SPDX-License-Identifier: Apache-2.0
#include "tools/run/attach_until.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/text.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"

namespace lagwatch::tools {
namespace {

constexpr int64_t kLongestHangNs = 10 * base::kNsPerSecond;

struct HangCounts {
  int begun = 0;
  int ended = 0;
};

HangCounts CountHangs(pid_t pid, const std::string& spool_directory) {
  HangCounts counts;
  report::SpoolReader reader(&base::SystemEnv(), spool_directory);
  const auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return counts;  // there was none yet
  for (const std::string& name : *names) {
    const auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type == report::RecordType::kReport) {
        const auto decoded = report::DecodeReport(record.payload);
        if (decoded.ok() && decoded->pid == static_cast<uint32_t>(pid)) ++counts.begun;
      } else if (record.type == report::RecordType::kHangEnd) {
        ++counts.ended;
      }
    }
  }
  return counts;
}

}  // namespace

base::Result<AttachEnd> AttachEnd::Parse(const std::string& text) {
  if (text.empty()) return AttachEnd{};
  if (text == "hang") return AttachEnd{.kind = Kind::kHang};
  if (text == "exit") return AttachEnd{.kind = Kind::kExit};
  constexpr std::string_view kUnits = "smh";
  constexpr int64_t kSeconds[] = {1, 60, 3600};
  const size_t unit = kUnits.find(text.back());
  const auto number = base::ParseNumber<uint32_t>(text.substr(0, text.size() - 1));
  if (unit == std::string_view::npos || !number || *number == 0)
    return base::Status(base::StatusCode::kInvalid,
                        "--until takes hang, exit, or a time such as 30s, 10m or 2h, not '" + text + "'");
  return AttachEnd{.kind = Kind::kTime, .after_ns = *number * kSeconds[unit] * base::kNsPerSecond};
}

bool AwaitAttachEnd(pid_t pid, const AttachEnd& end, const std::string& spool_directory) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200 * base::kNsPerMs};
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  pollfd process{.fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), .events = POLLIN, .revents = 0};
  const int64_t begin_ns = base::SystemClock().MonoNs();
  const bool is_for_hang = end.kind == AttachEnd::Kind::kHang;
  const HangCounts before = is_for_hang ? CountHangs(pid, spool_directory) : HangCounts{};
  int64_t hang_ns = 0;
  bool has_ended = process.fd < 0;
  while (!has_ended) {
    has_ended = poll(&process, 1, 0) > 0;
    if (has_ended || sigtimedwait(&signals, nullptr, &kPause) > 0) break;
    const int64_t now_ns = base::SystemClock().MonoNs();
    if (end.kind == AttachEnd::Kind::kTime && now_ns - begin_ns >= end.after_ns) break;
    if (!is_for_hang) continue;
    const HangCounts now = CountHangs(pid, spool_directory);
    if (now.begun <= before.begun) continue;
    if (hang_ns == 0) hang_ns = now_ns;
    if (now.ended > before.ended || now_ns - hang_ns > kLongestHangNs) break;
  }
  if (process.fd >= 0) close(process.fd);
  return has_ended;
}

}  // namespace lagwatch::tools
