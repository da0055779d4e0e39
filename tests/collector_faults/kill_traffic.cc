// SPDX-License-Identifier: Apache-2.0
#include "tests/collector_faults/kill_traffic.h"

#include <algorithm>
#include <utility>

#include "report/format/losses.h"

namespace lagwatch::faults {
namespace {

using report::RecordType;
using testing::SampleReport;

constexpr size_t kPendingRecords = 60;
constexpr int64_t kPlacesFromEnd = 25;
constexpr uint64_t kCauses = 8;

}  // namespace

void Expected::Add(const Expected& other) {
  reports.insert(other.reports.begin(), other.reports.end());
  durations_ns.insert(other.durations_ns.begin(), other.durations_ns.end());
  for (const auto& [cause, count] : other.lost) lost[cause] += count;
  watched_ns += other.watched_ns;
}

Batch KillTraffic::Next() {
  while (pending_.size() < kPendingRecords) {
    const uint64_t kind = records_ == Records::kHangs ? 2 : random_.Below(20);
    if (kind == 0) {
      AddUsage();
    } else if (kind == 1) {
      AddLosses();
    } else {
      AddHang();
    }
  }
  return Take(1 + random_.Below(30));
}

Batch KillTraffic::Rest() { return Take(pending_.size()); }

Batch KillTraffic::Take(size_t count) {
  Batch batch;
  for (; count > 0; --count) {
    const PendingRecord& record = pending_.front();
    report::AppendToBatch({record.type, record.payload}, &batch.body);
    if (record.type == RecordType::kReport) batch.reports.insert(record.report);
    ++batch.records;
    pending_.pop_front();
  }
  return batch;
}

void KillTraffic::Insert(PendingRecord record) {
  const int64_t back = std::min(static_cast<int64_t>(pending_.size()), random_.Between(0, kPlacesFromEnd));
  pending_.insert(pending_.end() - back, std::move(record));
}

SampleReport KillTraffic::DrawReport() {
  SampleReport report;
  report.header.id = report.header.hang_id = base::CreateUuidV7(now_ms_);
  report.header.session_id = base::CreateUuidV7(now_ms_);
  report.header.start_wall_ms = static_cast<uint64_t>(now_ms_);
  report.header.user = *names_.insert("u-" + std::to_string(random_.Below(30))).first;
  report.header.app_version = *names_.insert("1." + std::to_string(random_.Below(3))).first;
  report.header.loop = random_.Chance(50) ? "ui" : "io";
  report.verdict.word = random_.Chance(50) ? policies::VerdictWord::kCpu : policies::VerdictWord::kDisk;
  report.stack = {"Leaf" + std::to_string(random_.Below(6)), "Caller" + std::to_string(random_.Below(2)),
                  "Loop", "main"};
  return report;
}

void KillTraffic::AddHang() {
  now_ms_ += random_.Between(0, 3);
  const SampleReport first = DrawReport();
  std::vector<base::Uuid> ids;
  int64_t elapsed_ns = 0;
  const int64_t reports = random_.Chance(70) ? 1 : random_.Between(2, 4);
  for (int64_t ordinal = 0; ordinal < reports; ++ordinal) {
    SampleReport report = ordinal == 0 ? first : DrawReport();
    report.header.hang_id = first.header.id;
    report.header.session_id = first.header.session_id;
    report.header.user = first.header.user;
    report.header.ordinal = static_cast<uint32_t>(ordinal);
    report.header.elapsed_ns = static_cast<uint64_t>(elapsed_ns += random_.Between(1, 2'000'000'000));
    std::string encoded = report.Encode();
    if (random_.Chance(20)) report::AppendSampleRate(RecordType::kReport, 250'000, &encoded);
    report::AppendCause(1 + random_.Below(kCauses), &encoded);
    Insert({RecordType::kReport, std::move(encoded), report.header.id.bytes});
    expected_.reports.insert(report.header.id.bytes);
    ids.push_back(report.header.id);
  }
  if (random_.Chance(60)) {
    const int64_t duration_ns = elapsed_ns + random_.Between(0, 1'000'000'000);
    for (const base::Uuid& id : ids) Insert({RecordType::kHangEnd, testing::EncodeEnd(id, duration_ns), {}});
    expected_.durations_ns[first.header.id.bytes] = duration_ns;
  } else if (records_ == Records::kAll && random_.Chance(30)) {
    report::RunEnd end{.session_id = first.header.session_id, .reason = policies::ExitReason::kKilledInHang};
    end.report_id = first.header.id;
    end.hang_ns = static_cast<uint64_t>(elapsed_ns + 100);
    end.last_seen_wall_ms = static_cast<uint64_t>(now_ms_);
    Insert({RecordType::kRunEnd, report::EncodeRunEnd(end), {}});
    expected_.durations_ns[first.header.id.bytes] = elapsed_ns + 100;
  }
}

void KillTraffic::AddUsage() {
  report::Usage usage{.id = base::CreateUuidV7(now_ms_), .app = "editor", .app_version = "1.0"};
  usage.begin_wall_ms = static_cast<uint64_t>(now_ms_ - 1000);
  usage.end_wall_ms = static_cast<uint64_t>(now_ms_);
  usage.loops.resize(1);
  usage.loops[0].loop = "ui";
  const int64_t watched_ns = random_.Between(1, 1'000'000'000);
  usage.loops[0].usage.watched_ns = watched_ns;
  expected_.watched_ns += static_cast<double>(watched_ns);
  Insert({RecordType::kUsage, testing::EncodeUsage(usage), {}});
}

void KillTraffic::AddLosses() {
  report::Losses losses{.id = base::CreateUuidV7(now_ms_), .app = "editor", .app_version = "1.0"};
  losses.begin_wall_ms = static_cast<uint64_t>(now_ms_ - 1000);
  losses.end_wall_ms = static_cast<uint64_t>(now_ms_);
  const uint64_t cause = 1 + random_.Below(kCauses);
  const uint64_t count = 1 + random_.Below(9);
  losses.losses.push_back({report::LossReason::kCauseIsFull, cause, count, 0});
  expected_.lost[cause] += static_cast<int64_t>(count);
  Insert({RecordType::kLosses, report::EncodeLosses(losses), {}});
}

}  // namespace lagwatch::faults
