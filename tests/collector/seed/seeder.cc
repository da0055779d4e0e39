// SPDX-License-Identifier: Apache-2.0
#include "tests/collector/seed/seeder.h"

#include <stdexcept>

#include "base/uuid.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {

using policies::VerdictWord;

policies::Verdict VerdictOf(VerdictWord word, int64_t wall_ns) {
  policies::Verdict verdict{.word = word, .shares = {.wall_ns = wall_ns}};
  auto& shares = verdict.shares;
  const int64_t most = wall_ns * 9 / 10;
  shares.user_ns = wall_ns - most;
  switch (word) {
    case VerdictWord::kCpu:
      shares.user_ns = most, shares.kernel_ns = wall_ns - most;
      break;
    case VerdictWord::kLock:
      shares.lock_ns = most;
      break;
    case VerdictWord::kDisk:
      shares.disk_ns = most;
      break;
    case VerdictWord::kMemory:
      shares.memory_ns = most;
      break;
    case VerdictWord::kNetwork:
      shares.network_ns = most;
      break;
    default:
      shares.run_queue_ns = most;
  }
  verdict.use.cpu_ns = shares.user_ns + shares.kernel_ns;
  verdict.use.minor_faults = word == VerdictWord::kMemory ? 5200 : 12;
  verdict.use.major_faults = word == VerdictWord::kMemory ? 310 : 0;
  verdict.use.voluntary_switches = word == VerdictWord::kCpu ? 0 : 9;
  return verdict;
}

void Seeder::Add(report::RecordType type, const std::string& encoded) {
  report::AppendToBatch({type, encoded}, &batch_);
  if (++records_ == records_of_a_batch_) Flush();
}

void Seeder::Flush() {
  if (records_ == 0) return;
  const auto result = ingest_->Submit(batch_);
  if (!result.ok()) throw std::runtime_error(result.status().message());
  if (result->rejected > 0) throw std::runtime_error("a record was rejected");
  batch_.clear();
  records_ = 0;
}

void Seeder::StampHeader(int64_t start_ms, report::ReportHeader* header) {
  header->id = header->hang_id = base::CreateUuidV7(start_ms);
  header->session_id = base::CreateUuidV7(start_ms);
  header->start_wall_ms = start_ms;
}

namespace {

// Short dispatches are far more frequent than long ones; those of a second come in a part of the day.
policies::DurationHistogram DurationsOf(bool has_long) {
  constexpr size_t kSecond = 11;
  policies::DurationHistogram durations;
  for (size_t i = 0; i < durations.counts.size(); ++i) durations.counts[i] = uint64_t{38'000} >> (2 * i);
  if (has_long) durations.counts[kSecond] = 40;
  return durations;
}

}  // namespace

void Seeder::AddUse(const std::string& app, const std::string& version, int day) {
  for (int user = 0; user < 12; ++user) {
    const int64_t begin_ms = BeginOf(day) + Below(8 * kMsPerHour);
    const int64_t watched_ms = kMsPerHour + Below(5 * kMsPerHour);
    const bool is_better = version == "2.4.0";
    const int64_t hang_ms = Below(is_better ? 9'000 : 24'000) * (1 + user % 3);
    report::Usage usage{.id = base::CreateUuidV7(begin_ms),
                        .session_id = base::CreateUuidV7(begin_ms),
                        .app = app,
                        .app_version = version,
                        .user = "u-" + std::to_string(user),
                        .begin_wall_ms = static_cast<uint64_t>(begin_ms),
                        .end_wall_ms = static_cast<uint64_t>(begin_ms + watched_ms)};
    usage.loops = {{"ui",
                    {.watched_ns = watched_ms * kNsPerMs,
                     .dispatches = 40'000,
                     .hangs = static_cast<uint64_t>(hang_ms / 2500),
                     .hang_ns = hang_ms * kNsPerMs,
                     .durations = DurationsOf(begin_ms < BeginOf(day) + 2 * kMsPerHour),
                     .background = {.watched_ns = watched_ms / 4 * kNsPerMs,
                                    .hangs = static_cast<uint64_t>(hang_ms / 10'000),
                                    .hang_ns = hang_ms / 3 * kNsPerMs}}}};
    usage.values = {{"index",
                     user % 2 == 0 ? "new" : "old",
                     {.watched_ns = usage.loops[0].usage.watched_ns,
                      .hangs = usage.loops[0].usage.hangs,
                      .hang_ns = usage.loops[0].usage.hang_ns}}};
    Add(report::RecordType::kUsage, EncodeUsage(usage));
  }
}

}  // namespace lagwatch::testing
