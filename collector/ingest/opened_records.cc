// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/opened_records.h"

#include <utility>

namespace lagwatch::collector {

base::Result<report::Record> OpenedRecords::Open(const report::Record& record) {
  if (record.type != report::RecordType::kSealed) return record;
  if (opener_ == nullptr)
    return Status(StatusCode::kInvalid, "the record is sealed, and this collector cannot open it");
  auto opened = opener_->Open(record.payload);
  size_bytes_ += opened.ok() ? opened->payload.size() : kBytesOfAFailedOne;
  if (size_bytes_ > kMaxBytes) {
    return Status(StatusCode::kTooLarge, "the sealed records inflate to more than " +
                                             std::to_string(kMaxBytes) + " bytes; send fewer in one request");
  }
  if (!opened.ok()) return opened.status();
  payloads_.push_back(std::move(opened->payload));
  return report::Record{opened->type, payloads_.back()};
}

}  // namespace lagwatch::collector
