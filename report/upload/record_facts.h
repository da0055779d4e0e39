// SPDX-License-Identifier: Apache-2.0
// What the gate has to know of a record: whose it is, when it was made, how much it matters. Context:
// background.
#pragma once

#include <cstdint>
#include <string>

#include "base/uuid.h"
#include "policies/report_priority.h"
#include "report/spool/spool_reader.h"

namespace lagwatch::report {

// Whose reports are meant where losses are counted.
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
  // business. A lag's end says nothing of where it comes from either; only its `report_id` is known.
  bool has_origin = false;
  Origin origin = {};
  int64_t made_wall_ms = 0;
  // Of a report; cause and report_id also of a trace.
  policies::ReportPriority priority = policies::ReportPriority::kSlow;
  uint64_t cause = 0;
  base::Uuid lag_id = {};
  // A report's own id; of a lag's end, and of a run that was killed in a lag, that lag's first report; of a
  // trace, the report that it belongs to, if there is one.
  base::Uuid report_id = {};
};

RecordFacts FactsOf(const OwnedRecord& record);

// When an id was made.
int64_t WallMsOf(const base::Uuid& id);

}  // namespace lagwatch::report
