// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/case_plan.h"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include "tests/report/upload/model_collector.h"

namespace lagwatch::faults {
namespace {

using base::kMsPerDay;
using report::HangKind;
using report::HangLevel;
using report::RecordType;

constexpr int64_t kMsPerMinute = 60'000;

base::Uuid DrawId(int64_t wall_ms, Random* random) {
  base::Uuid id;
  for (size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<uint8_t>(wall_ms >> (40 - 8 * i));
  for (size_t i = 6; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<uint8_t>(random->Next());
  id.bytes[6] = static_cast<uint8_t>(0x70 | (id.bytes[6] & 15));
  id.bytes[8] = static_cast<uint8_t>(0x80 | (id.bytes[8] & 63));
  return id;
}

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) { plan_.seed = seed; }

  CasePlan Draw() {
    DrawPolicies();
    padding_bytes_ = random_.Chance(30) ? 700 : 0;
    bad_percent_ = random_.Pick<uint32_t>({0, 0, 5, 25});
    plan_.body_limit_bytes = padding_bytes_ > 0 && random_.Chance(40) ? 8192 : 1 << 20;
    plan_.has_power_cuts = random_.Chance(30);
    if (plan_.has_power_cuts || random_.Chance(10))
      plan_.sync = random_.Pick({report::SyncPolicy::kEveryRecord, report::SyncPolicy::kHangStartAndEnd});
    plan_.limits.segment_bytes = random_.Pick<size_t>({1 << 20, 2000, 600});
    damage_percent_ = random_.Pick<uint32_t>({0, 0, 30});
    const auto runs = random_.Between(1, 5);
    for (int64_t i = 0; i < runs; ++i) plan_.runs.push_back(DrawRun());
    plan_.end_wall_ms = wall_ms_;
    return std::move(plan_);
  }

 private:
  void DrawPolicies() {
    report::UploadPolicies& policies = plan_.policies;
    policies.sampling.rate_ppm = random_.Pick<uint32_t>(
        {policies::UserSampling::kAllPpm, policies::UserSampling::kAllPpm, 500'000, 50'000});
    policies.sampling.salt = random_.Next();
    if (random_.Chance(60)) {
      policies.quota.per_day = static_cast<uint32_t>(random_.Between(1, 8));
      policies.quota.per_cluster = static_cast<uint32_t>(random_.Between(1, 3));
    }
    policies.is_forced = random_.Chance(20);
    policies.user = "u-0";
    if (random_.Chance(50)) policies.retention.longest_ms = 7 * kMsPerDay;
    if (random_.Chance(40))
      policies.retention.total_bytes = static_cast<uint64_t>(random_.Between(1'000, 10'000));
    policies.losses_wait_ms = random_.Chance(50) ? 0 : 3'600'000;
  }

  RunPlan DrawRun() {
    RunPlan run;
    wall_ms_ += random_.Pick<int64_t>({1'000, 20 * kMsPerMinute, 90 * kMsPerMinute, kMsPerDay});
    if (random_.Chance(15)) wall_ms_ += random_.Between(-9, 9) * kMsPerDay;
    run.wall_ms = wall_ms_;
    run.process = DrawProcess(/*makes_reports=*/true);
    if (random_.Chance(15)) run.second = DrawProcess(/*makes_reports=*/random_.Chance(50));
    run.is_turned_off = random_.Chance(4);
    run.trouble_percent = random_.Pick<uint32_t>({0, 15, 50, 100});
    run.outage_percent = random_.Pick<uint32_t>({0, 20});
    run.way = random_.Chance(25) ? Way::kHttp : Way::kPipe;
    if (random_.Chance(15))
      run.peer = static_cast<Peer>(random_.Below(static_cast<uint64_t>(Peer::kNameOfAnother) + 1));
    if (random_.Chance(damage_percent_)) run.damaged_files = static_cast<uint32_t>(random_.Between(1, 2));
    if (random_.Chance(damage_percent_)) run.planted_files = static_cast<uint32_t>(random_.Between(1, 2));
    run.is_ledger_damaged = random_.Chance(damage_percent_ / 4);
    return run;
  }

  ProcessPlan DrawProcess(bool makes_reports) {
    ProcessPlan process{.session = DrawId(wall_ms_, &random_), .seed = random_.Next()};
    const int64_t steps = random_.Between(1, 14);
    for (int64_t i = 0; i < steps; ++i) {
      const uint64_t lot = random_.Below(100);
      if (lot < 60 && makes_reports) {
        Append(&process);
      } else if (lot < 75) {
        process.steps.push_back({.kind = Step::Kind::kSeal});
      } else if (lot < 95) {
        process.steps.push_back(
            {.kind = Step::Kind::kSend, .rounds = static_cast<uint32_t>(random_.Between(1, 6))});
      } else {
        process.steps.push_back({.kind = Step::Kind::kWait, .wait_ms = random_.Between(1, 2 * 3'600'000)});
      }
    }
    DrawRefusedCalls(&process.refused);
    DrawEnding(&process);
    return process;
  }

  void Append(ProcessPlan* process) {
    if (!open_hangs_.empty() && random_.Chance(30)) {
      const size_t report = open_hangs_[random_.Below(open_hangs_.size())];
      std::erase(open_hangs_, report);
      AddEnd(report);
    } else {
      AddReport();
    }
    process->steps.push_back({.kind = Step::Kind::kAppend, .record = plan_.records.size() - 1});
  }

  void AddReport() {
    lagwatch::testing::SmallReport small;
    const int64_t made_wall_ms = wall_ms_ - (random_.Chance(10) ? random_.Between(0, 10) * kMsPerDay : 0);
    small.id = DrawId(made_wall_ms, &random_);
    small.user = random_.Chance(10) ? "" : "u-" + std::to_string(random_.Below(4));
    small.kind = random_.Pick({HangKind::kHang, HangKind::kCpu, HangKind::kFrames, HangKind::kKilledInHang});
    small.level = random_.Chance(30) ? HangLevel::kAnr : HangLevel::kHang;
    // Mostly of a cause of its own, so that it cannot stand for another one in the sums.
    if (random_.Chance(80)) ++functions_;
    small.function_offset = 0x1000 + 0x10 * functions_;
    small.tag = random_.Letters(padding_bytes_);
    PlannedRecord planned{.record = {RecordType::kReport, {}}};
    planned.is_bad = random_.Chance(bad_percent_);
    const bool is_garbage = planned.is_bad && random_.Chance(30);
    if (planned.is_bad && !is_garbage) small.tag = random_.Letters(1100);  // longer than a collector keeps
    planned.record.payload = is_garbage ? random_.Bytes(random_.Below(300)) : Encode(small);
    planned.facts = report::FactsOf(planned.record);
    planned.note = {planned.facts.priority, /*is_hang_start_or_end=*/true};
    if (!planned.is_bad) open_hangs_.push_back(plan_.records.size());
    plan_.records.push_back(std::move(planned));
  }

  void AddEnd(size_t report) {
    PlannedRecord end{.record = {RecordType::kHangEnd,
                                 lagwatch::testing::EncodeHangEndOf(plan_.records[report].facts.report_id)},
                      .note = {.is_hang_start_or_end = true},
                      .ended_report = report};
    end.facts = report::FactsOf(end.record);
    plan_.records.push_back(std::move(end));
  }

  void DrawRefusedCalls(RefusedCalls* refused) {
    using Which = RefusedCalls::Which;
    if (!random_.Chance(35)) return;
    refused->which = random_.Pick(
        {Which::kWrites, Which::kChanges, Which::kReads, Which::kRemovals, Which::kSyncs, Which::kAll});
    refused->error = random_.Pick({ENOSPC, EIO, EROFS, EDQUOT, EACCES, EMFILE});
    refused->first = static_cast<uint32_t>(random_.Below(random_.Pick<uint64_t>({1, 30, 120})));
    refused->last =
        refused->first + static_cast<uint32_t>(random_.Below(random_.Pick<uint64_t>({1, 20, 1000})));
    refused->percent = random_.Pick<uint32_t>({100, 100, 30});
    refused->cut_percent = random_.Pick<uint32_t>({0, 50, 100});
  }

  void DrawEnding(ProcessPlan* process) {
    const uint64_t lot = random_.Below(100);
    process->end_at = static_cast<uint32_t>(1 + random_.Below(random_.Pick<uint64_t>({12, 40, 150, 400})));
    if (lot < 40) {
      process->ending = plan_.has_power_cuts && random_.Chance(50) ? Ending::kPowerCut : Ending::kKilled;
    } else if (lot < 43 && !plan_.has_power_cuts) {
      process->ending = Ending::kKilledAnytime;
      process->end_at = static_cast<uint32_t>(random_.Below(20'000));
    }
  }

  Random random_;
  CasePlan plan_;
  int64_t wall_ms_ = kStartWallMs;
  uint64_t functions_ = 0;
  size_t padding_bytes_ = 0;
  uint32_t bad_percent_ = 0;
  uint32_t damage_percent_ = 0;
  std::vector<size_t> open_hangs_;  // records
};

std::string NameOf(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kAppend:
      return "append " + std::to_string(step.record);
    case Step::Kind::kSeal:
      return "seal";
    case Step::Kind::kSend:
      return "send x" + std::to_string(step.rounds);
    case Step::Kind::kWait:
      return "wait " + std::to_string(step.wait_ms) + " ms";
  }
  return "?";
}

void Describe(const ProcessPlan& process, std::ostream* out) {
  constexpr const char* kEndings[] = {"ends", "killed at", "killed after us", "power cut at"};
  constexpr const char* kWhich[] = {"nothing", "writes", "changes", "reads", "removals", "syncs", "all"};
  *out << "    " << base::ToString(process.session).substr(24) << ":";
  const char* separator = " ";
  for (const Step& step : process.steps) {
    *out << std::exchange(separator, ", ") << NameOf(step);
  }
  *out << "; " << kEndings[static_cast<int>(process.ending)];
  if (process.ending != Ending::kClean) *out << " " << process.end_at;
  const RefusedCalls& refused = process.refused;
  if (refused.which != RefusedCalls::Which::kNone) {
    *out << "; refused: " << refused.percent << " % of " << kWhich[static_cast<int>(refused.which)] << " "
         << refused.first << " to " << refused.last << ", error " << refused.error << ", cut "
         << refused.cut_percent << " %";
  }
  *out << "\n";
}

}  // namespace

bool RunPlan::IsCertain() const {
  auto is_certain = [](const ProcessPlan& plan) {
    using Which = RefusedCalls::Which;
    return plan.ending == Ending::kClean &&
           (plan.refused.which == Which::kNone || plan.refused.which == Which::kRemovals);
  };
  // With trouble, a round may fail of which a part was taken.
  return way == Way::kPipe && trouble_percent == 0 && is_certain(process) && (!second || is_certain(*second));
}

bool CasePlan::IsSwept() const { return policies.retention.longest_ms != INT64_MAX; }

bool CasePlan::IsTurnedOffOnce() const { return std::ranges::any_of(runs, &RunPlan::is_turned_off); }

std::string CasePlan::Describe() const {
  std::ostringstream out;
  out << "  rate " << policies.sampling.rate_ppm << " ppm, quota " << policies.quota.per_day << "/"
      << policies.quota.per_cluster << ", forced " << policies.is_forced << ", longest "
      << (IsSwept() ? policies.retention.longest_ms / kMsPerDay : -1) << " days and "
      << static_cast<int64_t>(policies.retention.total_bytes) << " bytes, body limit " << body_limit_bytes
      << ", sync " << static_cast<int>(sync) << "\n";
  for (const RunPlan& run : runs) {
    out << "  run at " << (run.wall_ms - kStartWallMs) / kMsPerMinute << " min; trouble "
        << run.trouble_percent << " %"
        << (run.way == Way::kHttp ? " over HTTP to " + std::to_string(static_cast<int>(run.peer)) : "")
        << (run.is_turned_off ? ", turned off" : "") << (run.is_ledger_damaged ? ", ledger damaged" : "")
        << ", damaged " << run.damaged_files << ", planted " << run.planted_files << "\n";
    faults::Describe(run.process, &out);
    if (run.second) faults::Describe(*run.second, &out);
  }
  return out.str();
}

CasePlan DrawCase(uint64_t seed) { return Drawer(seed).Draw(); }

}  // namespace lagwatch::faults
