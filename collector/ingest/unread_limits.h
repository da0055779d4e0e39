// SPDX-License-Identifier: Apache-2.0
// Bounds reports of which only the content was read: the rows that bounded them are lost, and the content is
// their senders'. All of them together are bounded as those of one network in one day. Context: background.
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "collector/ingest/name_limits.h"
#include "collector/ingest/weight_limits.h"

namespace lagwatch::collector {

class UnreadLimits {
 public:
  // Of a report.
  void Bound(NewRecord* record) {
    ReportRow& row = std::get<NewReport>(*record).row;
    const Sender sender{.key = record->sender, .address = {}, .network = "unread"};
    names_.Bound(sender, wall_ms_, &row.app, &row.version, &row.loop, &row.os);
    weights_.Bound(sender, wall_ms_, record);
  }

 private:
  NameLimits names_;
  WeightLimits weights_{WeightBounds()};
  const int64_t wall_ms_ = base::SystemClock().WallMs();
};

}  // namespace lagwatch::collector
