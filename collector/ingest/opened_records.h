// SPDX-License-Identifier: Apache-2.0
// The records of a batch with those opened that were sealed. Context: background.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "base/status.h"
#include "report/format/report.h"
#include "report/seal/record_opener.h"

namespace lagwatch::collector {

class OpenedRecords {
 public:
  static constexpr size_t kMaxBytes = 16 << 20;           // that were sealed in one batch, inflated
  static constexpr size_t kBytesOfAFailedOne = 64 << 10;  // its share of the limit: it cost work, too

  // Borrows `opener`, which may be null: this collector can open nothing.
  explicit OpenedRecords(const report::RecordOpener* opener) : opener_(opener) {}

  // Returns `record`, or the record sealed in it, valid as long as both are. Errors: kInvalid for a
  // sealed one that cannot be opened; all others are of the whole batch, such as kTooLarge if it should
  // be sent in two.
  base::Result<report::Record> Open(const report::Record& record);

 private:
  const report::RecordOpener* opener_;
  std::deque<std::string> payloads_;
  size_t size_bytes_ = 0;
};

}  // namespace lagwatch::collector
