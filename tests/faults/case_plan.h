// SPDX-License-Identifier: Apache-2.0
// The plan of a case of the fault suite: the reports, the runs of a program that make them, and the faults
// with their times. Follows from the seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "report/spool/record_facts.h"
#include "report/spool/spool_reader.h"
#include "report/spool/spool_writer.h"
#include "report/upload/upload_policies.h"
#include "tests/faults/random.h"

namespace lagwatch::faults {

inline constexpr int64_t kStartWallMs = 1'700'049'600'000;  // noon of a day, in UTC

struct PlannedRecord {
  report::OwnedRecord record;
  report::RecordNote note = {};
  report::RecordFacts facts = {};           // of a report and of its end
  std::optional<size_t> ended_report = {};  // of a hang's end: which record is its report
  bool is_bad = false;                      // the collector will never take it

  bool is_report() const { return record.type == report::RecordType::kReport; }
};

// The calls that the system refuses to a process, from the first to the last by number.
struct RefusedCalls {
  enum class Which { kNone, kWrites, kChanges, kReads, kRemovals, kSyncs, kAll };
  Which which = Which::kNone;
  int error = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t percent = 100;    // of these calls
  uint32_t cut_percent = 0;  // of refused appends: that write a part first
};

enum class Ending {
  kClean,
  kKilled,         // before or after a call by number
  kKilledAnytime,  // whenever it happens: such a case is not the same each time
  kPowerCut,       // at a call by number
};

struct Step {
  enum class Kind { kAppend, kSeal, kSend, kWait };
  Kind kind;
  size_t record = 0;    // kAppend: of CasePlan::records
  uint32_t rounds = 0;  // kSend: at most
  int64_t wait_ms = 0;
};

struct ProcessPlan {
  base::Uuid session = {};
  std::vector<Step> steps = {};
  RefusedCalls refused = {};
  Ending ending = Ending::kClean;
  uint32_t end_at = 0;  // the call's number; of kKilledAnytime: microseconds
  uint64_t seed = 0;
};

enum class Way { kPipe, kHttp };

// The peer that a client finds at the endpoint, by HTTP.
enum class Peer {
  kCollector,
  kNobody,         // the connection is refused
  kNoSuchName,     // there is no such host
  kNoTls,          // where there should be
  kExpired,        // whose certificate was good once
  kStranger,       // with an untrusted certificate
  kNameOfAnother,  // whose certificate is for another host
};

struct RunPlan {
  // Whether its processes get all answers, and can do what follows from them.
  bool IsCertain() const;

  int64_t wall_ms = kStartWallMs;  // when it starts, by a clock that may be wrong
  ProcessPlan process = {};
  std::optional<ProcessPlan> second = {};  // another process that sends the same spool at the same time
  bool is_turned_off = false;
  uint32_t trouble_percent = 0;  // of requests
  uint32_t outage_percent = 0;   // of these, without an answer for the rest of the run
  Way way = Way::kPipe;
  Peer peer = Peer::kCollector;
  // After it, while no process runs.
  uint32_t damaged_files = 0;
  bool is_ledger_damaged = false;
  uint32_t planted_files = 0;
};

struct CasePlan {
  uint64_t seed = 0;
  report::UploadPolicies policies = {};
  report::SpoolLimits limits = {};
  report::SyncPolicy sync = report::SyncPolicy::kNever;
  uint64_t body_limit_bytes = 1 << 20;  // of the collector, or of what stands before it
  std::vector<PlannedRecord> records = {};
  std::vector<RunPlan> runs = {};
  int64_t end_wall_ms = kStartWallMs;  // when all is well again
  bool has_power_cuts = false;

  bool IsTurnedOffOnce() const;
  // Old or excess segments are removed; without a longest age, none are.
  bool IsSwept() const;
  // A description in a few lines, for finding the reason of a failure.
  std::string Describe() const;
};

CasePlan DrawCase(uint64_t seed);

}  // namespace lagwatch::faults
