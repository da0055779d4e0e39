// SPDX-License-Identifier: Apache-2.0
// Decides which records of a spool are sent, and counts the others: both together are all that were made.
// Decisions are in the ledger, and stay. Context: background; pure, except for ids, which are random.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/spool/record_facts.h"
#include "report/spool/spool_reader.h"
#include "report/upload/upload_ledger.h"
#include "report/upload/upload_policies.h"

namespace lagwatch::report {

// A segment that waits, oldest first among several.
struct WaitingSegment {
  WaitingSegment(std::string name, Segment segment);

  std::string name;  // without its ending
  SegmentFacts facts;
  // By record, as the facts.
  std::vector<OwnedRecord> records;
  std::vector<std::unique_ptr<const Report>> reports;  // decoded; null for other records
};

class UploadGate {
 public:
  // All borrowed.
  UploadGate(const UploadPolicies& policies, UploadLedger* ledger, int64_t now_wall_ms)
      : policies_(policies), ledger_(ledger), now_wall_ms_(now_wall_ms) {}

  // Decides about those that nothing is decided of yet, what matters most first.
  void Decide(std::span<const WaitingSegment> segments);
  // After Decide. `segment` is the name of the record's segment, here and below.
  bool IsSent(const std::string& segment, const RecordFacts& facts) const;
  // After Decide. Adds to a record that is sent what the collector has to know: its rate and its cause.
  void Annotate(const std::string& segment, const RecordFacts& facts, OwnedRecord* record) const;
  // After Decide. The counts to send now, if any.
  std::span<const Losses> LossesToSend(bool goes_along);

  // A report that was decided to be sent, and that the collector does not take.
  void CountRefused(const std::string& segment, const RecordFacts& facts);
  // Counts records that are about to be removed from disk unsent; they must not be sent any more.
  void CountRemoved(const std::string& segment, const SegmentFacts& facts, LossReason reason);

  // Counted by this gate since the last call.
  LossCounts TakeCounted() { return std::exchange(counted_, {}); }

 private:
  struct Candidate {
    const WaitingSegment* segment;
    const RecordFacts* facts;
    policies::ReportPriority priority;
  };

  bool IsForced(const RecordFacts& facts) const;
  uint32_t RateOf(const std::string& segment, const RecordFacts& facts) const;
  std::vector<base::Uuid> HangsOfKilledRuns(std::span<const WaitingSegment> segments) const;
  LossReason WhyNotSent(const RecordFacts& facts) const;
  void DecideSegment(const WaitingSegment& segment, const std::vector<base::Uuid>& killed,
                     std::vector<Candidate>* candidates);
  void CountDamage(const std::string& segment, const SegmentFacts& facts);
  void DecideByQuota(std::vector<Candidate> candidates);
  policies::QuotaAnswer TakeQuota(const RecordFacts& facts, policies::ReportPriority priority);
  void DecideTraces(const WaitingSegment& segment);
  void MarkDone(const WaitingSegment& segment);
  void CountRecord(const RecordFacts& facts, LossReason reason, uint32_t rate_ppm);
  void Drop(const std::string& segment, const RecordFacts& facts, LossReason reason, uint32_t rate_ppm);
  void Count(const Origin& origin, const Loss& loss);

  const UploadPolicies& policies_;
  UploadLedger* ledger_;
  int64_t now_wall_ms_;
  LossCounts counted_{};
};

}  // namespace lagwatch::report
