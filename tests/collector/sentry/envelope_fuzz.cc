// SPDX-License-Identifier: Apache-2.0
// Any bytes as Sentry's envelope: what is taken of it must be records that the collector can read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collector/sentry/intake.h"
#include "report/format/packed_batch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lagwatch;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto envelope = collector::ParseEnvelope(body);
  const auto intake =
      envelope.ok() ? collector::TakeEnvelope(*envelope, "1") : collector::TakeEvent(body, "1");
  if (!intake.ok() || intake->batch.empty()) return 0;
  const auto records = report::ReadBatch(intake->batch);
  if (!records.ok()) std::abort();
  for (const report::OwnedRecord& record : *records) {
    const bool is_read = record.type == report::RecordType::kReport
                             ? report::DecodeReport(record.payload).ok()
                             : report::DecodeHangEnd(record.payload).ok();
    if (!is_read) std::abort();
  }
  return 0;
}
