// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tests/collector/seed/month/planted_month.h"
#include "tests/collector/seed/seeder.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {
namespace {

void AddHang(const PlantedHang& hang, Seeder* seeder) {
  const PlantedCause& cause = *hang.cause;
  // A header borrows its texts.
  const std::string user = hang.user_name();
  const std::string distribution = PlantedMonth::DistributionOf(hang.user);
  const std::string kernel = PlantedMonth::KernelOf(hang.user);
  SampleReport report;
  auto& header = report.header;
  Seeder::StampHeader(seeder->BeginOf(hang.day) + seeder->Below(20 * kMsPerHour), &header);
  header.app = cause.app;
  header.app_version = hang.version;
  header.user = user;
  header.distribution = distribution;
  header.os = kernel;
  header.loop = cause.loop;
  header.tag = cause.tag;
  header.elapsed_ns = 2'000 * kNsPerMs;
  report.module_path = hang.is_in_plugin ? cause.plugin : "/usr/bin/" + cause.app;
  report.stack = {cause.leaf, cause.caller, "EventLoop::Run", "main"};
  report.verdict = VerdictOf(cause.word, 1'000 * kNsPerMs);
  if (!cause.owner.empty()) {
    report.waits = {{.fields = {.tid = header.tid,
                                .lock = {.address = 0x7ffd29eaade0,
                                         .kind = report::LockKind::kMutex,
                                         .waits_for = report::WaitsFor::kOwner,
                                         .owner_tid = static_cast<int32_t>(header.tid) + 7},
                                .owner_name = "indexer"},
                     .stack = report.stack,
                     .owner_stack = {cause.owner, "main"}}};
    report.wait_outcome = report::WaitOutcome::kLock;
  }
  seeder->Add(report::RecordType::kReport, report.Encode());
  seeder->Add(report::RecordType::kHangEnd, EncodeEnd(header.id, hang.hang_ms * kNsPerMs));
}

void AddUse(const PlantedUse& use, Seeder* seeder) {
  const int64_t begin_ms = seeder->BeginOf(use.day) + seeder->Below(15 * kMsPerHour);
  report::Usage usage{.id = base::CreateUuidV7(begin_ms),
                      .session_id = base::CreateUuidV7(begin_ms),
                      .app = use.release->app,
                      .app_version = use.release->version,
                      .user = "u-" + std::to_string(use.user),
                      .begin_wall_ms = static_cast<uint64_t>(begin_ms),
                      .end_wall_ms = static_cast<uint64_t>(begin_ms + use.watched_ms)};
  usage.loops = {{"ui",
                  {.watched_ns = use.watched_ms * kNsPerMs,
                   .dispatches = 40'000,
                   .hangs = static_cast<uint64_t>(use.hangs),
                   .hang_ns = use.hang_ms * kNsPerMs}}};
  seeder->Add(report::RecordType::kUsage, EncodeUsage(usage));
}

}  // namespace

void SeedMonth(const PlantedMonth& month, Seeder* seeder) {
  for (const PlantedHang& hang : month.hangs()) AddHang(hang, seeder);
  for (const PlantedUse& use : month.uses()) AddUse(use, seeder);
  seeder->Flush();
}

}  // namespace lagwatch::testing
