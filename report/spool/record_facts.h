// SPDX-License-Identifier: Apache-2.0
// The facts of a record that decide whether it is sent: origin, time, priority. A record is decoded once for
// all its readers: the sweep, the gate, the naming of frames, the withdrawal of consent. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "policies/upload/report_priority.h"
#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"

namespace lagwatch::report {

// The origin that losses are counted for.
struct Origin {
  std::string app = {};
  std::string app_version = {};
  std::string user = {};

  bool operator==(const Origin&) const = default;
};

struct RecordFacts {
  RecordType type{};  // of a sealed record, what is inside
  bool is_sealed = false;
  // A sealed record does not say whose it is: its origin is empty, as is that of a program without a name.
  // False for what cannot be decoded and for types that are not known here: to judge those is the collector's
  // business. A hang's end has none either; only its `report_id` is known. False for losses too, which are
  // always sent.
  bool has_origin = false;
  Origin origin = {};
  int64_t made_wall_ms = 0;
  uint64_t key = 0;  // identifies the record in its segment, whatever else of it is damaged later
  size_t size_bytes = 0;
  // Of a report; cause and report_id also of a trace.
  policies::ReportPriority priority = policies::ReportPriority::kSlow;
  uint64_t cause = 0;
  base::Uuid hang_id = {};
  // A report's own id; of a hang's end, and of a run that was killed in a hang, that hang's first report; of
  // a trace, the report that it belongs to, if there is one.
  base::Uuid report_id = {};
  std::shared_ptr<const Losses> losses = {};  // the decoded record, of a record of losses
};

// The records of a segment.
struct SegmentFacts {
  std::vector<RecordFacts> records;
  size_t skipped_bytes = 0;  // as in Segment
};

// `report`, if not null, receives a report as it was decoded: by DecodeReportStacks.
RecordFacts FactsOf(Record record, std::unique_ptr<const Report>* report = nullptr);
SegmentFacts FactsOf(const Segment& segment);

// The priority of a record where there is no room for all. A record of losses is few bytes for many reports.
policies::ReportPriority PriorityOf(const RecordFacts& facts);

// When an id was made.
int64_t WallMsOf(const base::Uuid& id);

}  // namespace lagwatch::report
