// SPDX-License-Identifier: Apache-2.0
#include "report/upload/upload_gate.h"

#include <algorithm>
#include <utility>

#include "report/format/report.h"

namespace lagwatch::report {
namespace {

using policies::QuotaAnswer;
using policies::ReportPriority;
using policies::UserSampling;

bool Contains(const std::vector<base::Uuid>& ids, const base::Uuid& id) {
  return std::ranges::find(ids, id) != ids.end();
}

}  // namespace

WaitingSegment::WaitingSegment(std::string stem, Segment segment)
    : name(std::move(stem)), records(std::move(segment.records)), reports(records.size()) {
  facts.skipped_bytes = segment.skipped_bytes;
  for (size_t i = 0; i < records.size(); ++i) facts.records.push_back(FactsOf(records[i], &reports[i]));
}

void UploadGate::Decide(std::span<const WaitingSegment> segments) {
  const std::vector<base::Uuid> killed = HangsOfKilledRuns(segments);
  std::vector<Candidate> candidates;
  std::vector<const WaitingSegment*> undecided;
  for (const WaitingSegment& segment : segments) {
    const bool is_decided = ledger_->segments.contains(segment.name);
    CountDamage(segment.name, segment.facts);  // first: it counts whether or not the user is sampled
    if (is_decided) continue;
    undecided.push_back(&segment);
    DecideSegment(segment, killed, &candidates);
  }
  DecideByQuota(std::move(candidates));
  for (const WaitingSegment* segment : undecided) DecideTraces(*segment);
  for (const WaitingSegment* segment : undecided) MarkDone(*segment);
}

// The origin of sealed reports is unknown; they are unlikely to be another user's than this program's.
bool UploadGate::IsForced(const RecordFacts& facts) const {
  return policies_.is_forced && facts.has_origin && (facts.is_sealed || facts.origin.user == policies_.user);
}

uint32_t UploadGate::RateOf(const std::string& segment, const RecordFacts& facts) const {
  const SegmentDecision& decision = ledger_->segments.at(segment);
  return decision.forced.contains(facts.key) ? 0 : decision.sample_rate_ppm;
}

std::vector<base::Uuid> UploadGate::HangsOfKilledRuns(std::span<const WaitingSegment> segments) const {
  std::vector<base::Uuid> hangs;
  for (const WaitingSegment& segment : segments) {
    for (const RecordFacts& facts : segment.facts.records) {
      if (facts.type == RecordType::kRunEnd && facts.report_id != base::Uuid{})
        hangs.push_back(facts.report_id);
    }
  }
  return hangs;
}

// kUnknown when nothing is against it.
LossReason UploadGate::WhyNotSent(const RecordFacts& facts) const {
  if (policies_.is_turned_off) return LossReason::kTurnedOff;
  if (!facts.has_origin) return LossReason::kUnknown;
  if (now_wall_ms_ - policies_.retention.longest_ms > facts.made_wall_ms) return LossReason::kTooOld;
  const std::string& user = facts.origin.user.empty() ? ledger_->installation : facts.origin.user;
  const bool is_sampled =
      IsForced(facts) || policies_.sampling.IsSampled(user, policies::DayOf(facts.made_wall_ms));
  return is_sampled ? LossReason::kUnknown : LossReason::kNotSampled;
}

void UploadGate::DecideSegment(const WaitingSegment& segment, const std::vector<base::Uuid>& killed,
                               std::vector<Candidate>* candidates) {
  const bool is_sampling = policies_.sampling.rate_ppm < UserSampling::kAllPpm;
  const uint32_t rate_ppm = is_sampling ? policies_.sampling.rate_ppm : 0;
  SegmentDecision& decision = ledger_->segments[segment.name];
  decision.sample_rate_ppm = rate_ppm;
  for (const RecordFacts& facts : segment.facts.records) {
    if (is_sampling && IsForced(facts)) decision.forced.insert(facts.key);
    if (const LossReason why = WhyNotSent(facts); why != LossReason::kUnknown) {
      // Losses for other reasons are reported also for users who are not sampled: they stand for
      // no other user.
      Drop(segment.name, facts, why, why == LossReason::kNotSampled ? RateOf(segment.name, facts) : 0);
    } else if (facts.type == RecordType::kReport && facts.has_origin) {
      const bool was_killed = Contains(killed, facts.hang_id) || Contains(killed, facts.report_id);
      candidates->push_back({&segment, &facts, was_killed ? ReportPriority::kKilledInHang : facts.priority});
    }
  }
}

// Once: how many reports were in the damaged part is not known. Without a rate as long as nothing is decided.
void UploadGate::CountDamage(const std::string& segment, const SegmentFacts& facts) {
  SegmentDecision& decision = ledger_->segments[segment];
  if (facts.skipped_bytes == 0 || decision.is_damage_counted || decision.is_done) return;
  decision.is_damage_counted = true;
  const auto first = std::ranges::find_if(facts.records, &RecordFacts::has_origin);
  Count(first == facts.records.end() ? Origin{} : first->origin,
        {LossReason::kDamaged, 0, 1, decision.sample_rate_ppm});
}

void UploadGate::DecideByQuota(std::vector<Candidate> candidates) {
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::priority);
  for (const Candidate& candidate : candidates) {
    const RecordFacts& facts = *candidate.facts;
    if (IsForced(facts)) continue;
    const std::string& segment = candidate.segment->name;
    const uint32_t rate_ppm = RateOf(segment, facts);
    switch (TakeQuota(facts, candidate.priority)) {
      case QuotaAnswer::kSend:
        break;
      case QuotaAnswer::kDayIsFull:
        Drop(segment, facts, LossReason::kDayIsFull, rate_ppm);
        break;
      case QuotaAnswer::kClusterIsFull:
        Drop(segment, facts, LossReason::kCauseIsFull, rate_ppm);
        break;
    }
  }
}

QuotaAnswer UploadGate::TakeQuota(const RecordFacts& facts, ReportPriority priority) {
  const int64_t today = policies::DayOf(now_wall_ms_);
  if (priority != ReportPriority::kSlowDispatch) {
    return policies::DailyQuota(policies_.quota, ledger_->QuotaUseOf(facts.origin))
        .Take(facts.cause, priority, today);
  }
  policies::DailyQuota quota({policies_.slow.per_day, policies_.slow.per_cause},
                             ledger_->QuotaUseOf(facts.origin, UploadLedger::Quota::kSlow));
  return quota.Take(facts.cause, ReportPriority::kKilledInHang, today);  // all of it is theirs
}

// Sent with their reports, within limits of their own. No report is lost with a trace, so none is counted.
void UploadGate::DecideTraces(const WaitingSegment& segment) {
  const int64_t today = policies::DayOf(now_wall_ms_);
  const policies::QuotaLimits size_limits{.per_day = policies_.traces.kib_per_day};
  for (const RecordFacts& facts : segment.facts.records) {
    if (facts.type != RecordType::kTrace || !facts.has_origin || !IsSent(segment.name, facts) ||
        IsForced(facts))
      continue;
    const auto size_kib = static_cast<uint32_t>((facts.size_bytes + 1023) / 1024);
    using Quota = UploadLedger::Quota;
    policies::QuotaUse* size_use = ledger_->QuotaUseOf(facts.origin, Quota::kTraceKib);
    const policies::QuotaUse before = *size_use;
    bool is_sent = !ledger_->IsDropped(facts.report_id) &&
                   policies::DailyQuota(size_limits, size_use).TakeAmount(size_kib, today);
    const uint32_t per_cause =
        facts.cause != 0 ? policies_.traces.per_cause : policies::QuotaLimits::kNoLimit;
    policies::DailyQuota counts({policies_.traces.per_day, per_cause},
                                ledger_->QuotaUseOf(facts.origin, Quota::kTraces));
    if (is_sent && counts.Take(facts.cause, ReportPriority::kKilledInHang, today) != QuotaAnswer::kSend) {
      *ledger_->QuotaUseOf(facts.origin, Quota::kTraceKib) = before;
      is_sent = false;
    }
    if (!is_sent) Drop(segment.name, facts, LossReason::kUnknown, 0);
  }
}

// The ends of hangs have to wait until all reports are decided about.
void UploadGate::MarkDone(const WaitingSegment& segment) {
  bool is_any_sent = false;
  for (const RecordFacts& facts : segment.facts.records)
    is_any_sent = is_any_sent || IsSent(segment.name, facts);
  ledger_->segments[segment.name].is_done = !is_any_sent;
}

bool UploadGate::IsSent(const std::string& segment, const RecordFacts& facts) const {
  const auto decision = ledger_->segments.find(segment);
  if (decision == ledger_->segments.end() || decision->second.is_done) return false;
  if (facts.type == RecordType::kHangEnd && ledger_->IsDropped(facts.report_id)) return false;
  return !decision->second.dropped.contains(facts.key);
}

void UploadGate::Annotate(const std::string& segment, const RecordFacts& facts, OwnedRecord* record) const {
  if (!facts.has_origin) return;
  const uint32_t rate_ppm = RateOf(segment, facts);
  if (rate_ppm != 0) AppendSampleRate(record->type, rate_ppm, &record->payload);
  if (facts.cause != 0 && record->type == RecordType::kReport) AppendCause(facts.cause, &record->payload);
}

std::span<const Losses> UploadGate::LossesToSend(bool goes_along) {
  if (policies_.is_turned_off) return {};
  if (goes_along || policies_.AreLossesDue(ledger_->LossesWaitSince(), now_wall_ms_)) ledger_->FreezeLosses();
  return ledger_->frozen;
}

void UploadGate::CountRefused(const std::string& segment, const RecordFacts& facts) {
  CountRecord(facts, LossReason::kRefused, RateOf(segment, facts));
}

void UploadGate::CountRemoved(const std::string& segment, const SegmentFacts& facts, LossReason reason) {
  const bool is_decided = ledger_->segments.contains(segment);
  SegmentDecision& decision = ledger_->segments[segment];
  for (const RecordFacts& record : facts.records) {
    if (!is_decided || IsSent(segment, record)) Drop(segment, record, reason, RateOf(segment, record));
  }
  CountDamage(segment, facts);
  decision.is_done = true;
}

void UploadGate::Drop(const std::string& segment, const RecordFacts& facts, LossReason reason,
                      uint32_t rate_ppm) {
  const bool is_new = ledger_->segments[segment].dropped.insert(facts.key).second;
  if (is_new) CountRecord(facts, reason, rate_ppm);
}

void UploadGate::CountRecord(const RecordFacts& facts, LossReason reason, uint32_t rate_ppm) {
  if (facts.losses != nullptr) {
    // Counted before, when no sender existed.
    for (const Loss& loss : facts.losses->losses) ledger_->CountLoss(facts.origin, loss, now_wall_ms_);
  }
  if (facts.type != RecordType::kReport) return;
  // By their causes lost reports are estimated to be hangs, which a slow dispatch is not.
  const uint64_t cause = facts.priority == ReportPriority::kSlowDispatch ? 0 : facts.cause;
  Count(facts.origin, {reason, cause, 1, rate_ppm});
  if (facts.has_origin) ledger_->NoteDropped(facts.report_id);
}

void UploadGate::Count(const Origin& origin, const Loss& loss) {
  ledger_->CountLoss(origin, loss, now_wall_ms_);
  counted_[static_cast<size_t>(loss.reason)] += loss.count;
}

}  // namespace lagwatch::report
