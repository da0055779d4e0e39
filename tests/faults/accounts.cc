// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/accounts.h"

#include <algorithm>

namespace lagwatch::faults {
namespace {

constexpr std::string_view kDamaged = "damaged";

bool IsSameRecord(const report::OwnedRecord& a, const report::OwnedRecord& b) {
  return a.type == b.type && a.payload == b.payload;
}

std::string NameOf(size_t record) { return "record " + std::to_string(record); }

bool IsInStore(const PlannedRecord& planned, collector::Store* store) {
  auto found = store->FindReport(planned.facts.report_id);
  return planned.is_report() && planned.facts.has_origin && found.ok() && found->has_value();
}

}  // namespace

Accounts::Accounts(const CasePlan& plan) : plan_(plan), owed_(plan.records.size()) {}

void Accounts::NoteMade(const SharedCase& shared) {
  for (size_t i = 0; i < owed_.size(); ++i) {
    Owed& owed = owed_[i];
    const Made made = shared.made[i];
    if (owed.made != Made::kNotYet || made == Made::kNotYet) continue;
    owed.made = made;
    owed.most = 1;
    owed.least = made >= Made::kOnDisk ? 1 : 0;
  }
}

void Accounts::NotePowerCut() {
  may_be_damaged_ = true;
  for (Owed& owed : owed_) {
    if (owed.made != Made::kSynced) owed.least = 0;
  }
}

void Accounts::NoteDamaged(const std::string& file, const std::vector<report::OwnedRecord>& gone,
                           bool is_visible) {
  may_be_damaged_ = true;
  DamagedFile& damaged = damaged_files_[file];
  damaged.is_visible = is_visible;
  for (const report::OwnedRecord& record : gone) {
    for (size_t i = 0; i < owed_.size(); ++i) {
      if (!IsSameRecord(plan_.records[i].record, record)) continue;
      owed_[i].least = 0;
      damaged.gone.push_back(i);
    }
  }
}

void Accounts::NoteLedgerDamaged(const std::vector<report::OwnedRecord>& on_disk, collector::Store* store) {
  is_ledger_damaged_ = true;
  damaged_files_.clear();
  for (size_t i = 0; i < owed_.size(); ++i) {
    const PlannedRecord& planned = plan_.records[i];
    const bool is_on_disk = std::ranges::any_of(
        on_disk, [&](const auto& record) { return IsSameRecord(record, planned.record); });
    owed_[i].most += owed_[i].most > 0 ? 1 : 0;
    if (!is_on_disk && !IsInStore(planned, store)) owed_[i].least = 0;
  }
}

std::string Accounts::Check(collector::Store* store) const {
  for (auto check : {&Accounts::CheckSums, &Accounts::CheckLosses, &Accounts::CheckDamage,
                     &Accounts::CheckStored, &Accounts::CheckEnds}) {
    if (std::string problem = (this->*check)(store); !problem.empty()) return problem;
  }
  return {};
}

// Stored and lost ones are all that were made, for each cause.
std::string Accounts::CheckSums(collector::Store* store) const {
  struct Sum {
    uint64_t least = 0;
    uint64_t most = 0;
    uint64_t uncertain = 0;
    uint64_t stored = 0;
    uint64_t lost = 0;
    uint64_t removed = 0;  // of these
    std::string records;
  };
  std::map<uint64_t, Sum> sums;
  for (size_t i = 0; i < owed_.size(); ++i) {
    const PlannedRecord& planned = plan_.records[i];
    if (!planned.is_report()) continue;
    Sum& sum = sums[planned.facts.cause];
    sum.least += owed_[i].least;
    sum.most += owed_[i].most;
    sum.uncertain += uncertain_.contains(base::ToString(planned.facts.report_id)) ? 1 : 0;
    sum.stored += IsInStore(planned, store) ? 1 : 0;
    sum.records += " " + std::to_string(i);
  }
  auto losses = store->Losses({});
  for (const collector::LossRow& loss : *losses) {
    if (loss.reason == kDamaged) continue;
    Sum& sum = sums[static_cast<uint64_t>(loss.cause)];
    sum.lost += static_cast<uint64_t>(loss.count);
    if (loss.reason == "too-old" || loss.reason == "too-much")
      sum.removed += static_cast<uint64_t>(loss.count);
  }
  for (const auto& [cause, sum] : sums) {
    const uint64_t told = sum.stored + sum.lost;
    if (told >= sum.least && told <= sum.most + std::min(sum.removed, sum.uncertain)) continue;
    return "of records" + sum.records + ", " + std::to_string(sum.least) + " to " + std::to_string(sum.most) +
           " were made; stored " + std::to_string(sum.stored) + ", lost " + std::to_string(sum.lost);
  }
  return {};
}

bool Accounts::MayBeLost(const PlannedRecord& planned, std::string_view reason) const {
  const report::UploadPolicies& policies = plan_.policies;
  const report::Origin& origin = planned.facts.origin;
  const bool is_forced = policies.is_forced && planned.facts.has_origin && origin.user == policies.user;
  if (reason == "not-sampled") {
    return !is_forced &&
           (origin.user.empty() ||
            !policies.sampling.IsSampled(origin.user, policies::DayOf(planned.facts.made_wall_ms)));
  }
  if (reason == "day-is-full" || reason == "cause-is-full")
    return !is_forced && policies.quota.per_day != policies::QuotaLimits::kNoLimit;
  if (reason == "too-old") return plan_.IsSwept();
  if (reason == "too-much") return plan_.IsSwept() && policies.retention.total_bytes != UINT64_MAX;
  if (reason == "refused") return planned.is_bad;
  return reason == "turned-off" && plan_.IsTurnedOffOnce();
}

std::string Accounts::CheckLosses(collector::Store* store) const {
  auto losses = store->Losses({});
  for (const collector::LossRow& loss : *losses) {
    if (loss.reason == kDamaged) continue;
    const bool is_right = std::ranges::any_of(plan_.records, [&](const PlannedRecord& planned) {
      return planned.is_report() && planned.facts.cause == static_cast<uint64_t>(loss.cause) &&
             MayBeLost(planned, loss.reason);
    });
    if (!is_right) return "a report was lost for a reason that it cannot have: " + loss.reason;
  }
  return {};
}

bool Accounts::IsTold(const PlannedRecord& planned, collector::Store* store) const {
  if (IsInStore(planned, store)) return true;
  auto losses = store->Losses({});
  return std::ranges::any_of(*losses, [&](const collector::LossRow& loss) {
    return loss.reason != kDamaged && static_cast<uint64_t>(loss.cause) == planned.facts.cause;
  });
}

// Each file that reports are missing of, and of which that can be seen, is counted.
std::string Accounts::CheckDamage(collector::Store* store) const {
  uint64_t counted = 0;
  auto losses = store->Losses({});
  for (const collector::LossRow& loss : *losses)
    counted += loss.reason == kDamaged ? static_cast<uint64_t>(loss.count) : 0;
  if (counted > 0 && !may_be_damaged_) return "damage was counted, and there was none";
  const auto files = static_cast<uint64_t>(std::ranges::count_if(damaged_files_, [&](const auto& named) {
    const DamagedFile& file = named.second;
    return file.is_visible && std::ranges::any_of(file.gone, [&](size_t record) {
             return plan_.records[record].is_report() && !IsTold(plan_.records[record], store);
           });
  }));
  if (counted >= files) return {};
  return "reports are missing of " + std::to_string(files) + " damaged files; counted are " +
         std::to_string(counted);
}

// Records that should not have been sent, and those that should have been.
std::string Accounts::CheckStored(collector::Store* store) const {
  const report::UploadPolicies& policies = plan_.policies;
  const bool is_sampling = policies.sampling.rate_ppm < policies::UserSampling::kAllPpm;
  for (size_t i = 0; i < owed_.size(); ++i) {
    const PlannedRecord& planned = plan_.records[i];
    if (!planned.is_report() || !planned.facts.has_origin) continue;
    auto found = store->FindReport(planned.facts.report_id);
    const std::string& user = planned.facts.origin.user;
    const bool is_forced = policies.is_forced && user == policies.user;
    const bool may_be_lost = planned.is_bad || plan_.IsSwept() || plan_.IsTurnedOffOnce();
    if (!*found) {
      if (is_forced && owed_[i].least > 0 && !may_be_lost) return NameOf(i) + " is forced, and not stored";
      continue;
    }
    if (planned.is_bad) return NameOf(i) + " is bad, and stored";
    const uint32_t rate_ppm = is_sampling && !is_forced ? policies.sampling.rate_ppm : 0;
    if ((*found)->row.sample_rate_ppm != rate_ppm) return NameOf(i) + " has the wrong sampling rate";
    const int64_t day = policies::DayOf(planned.facts.made_wall_ms);
    if (rate_ppm != 0 && !user.empty() && !policies.sampling.IsSampled(user, day))
      return NameOf(i) + " is not sampled, and stored";
  }
  return {};
}

std::string Accounts::CheckEnds(collector::Store* store) const {
  // Ends that are removed are not counted.
  if (is_ledger_damaged_ || plan_.IsTurnedOffOnce() || plan_.IsSwept()) return {};
  for (size_t i = 0; i < owed_.size(); ++i) {
    if (!plan_.records[i].ended_report || owed_[i].least == 0) continue;
    const PlannedRecord& report = plan_.records[*plan_.records[i].ended_report];
    auto found = store->FindReport(report.facts.report_id);
    if (*found && !(*found)->row.duration_ns)
      return NameOf(i) + ", the end of a stored report, did not arrive";
  }
  return {};
}

}  // namespace lagwatch::faults
