// SPDX-License-Identifier: Apache-2.0
// Decodes any bytes as a packed batch: unpacked within its limits, or refused with a message. The result is
// packed again and comes out the same; so does any plain batch.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "report/format/packed_batch.h"

namespace {

using namespace lagwatch::report;

constexpr UnpackLimits kLimits{.record_count = 1000, .payload_bytes = 1 << 20, .number_count = 100'000};

std::vector<Record> ViewsOf(const std::vector<OwnedRecord>& records) {
  std::vector<Record> views;
  for (const OwnedRecord& record : records) views.push_back({record.type, record.payload});
  return views;
}

std::vector<OwnedRecord> RoundTrip(const std::vector<Record>& records) {
  const UnpackLimits unlimited{
      .record_count = SIZE_MAX, .payload_bytes = SIZE_MAX / 2, .number_count = SIZE_MAX / 2};
  auto unpacked = UnpackBatch(PackBatch(records), unlimited);
  if (!unpacked.ok() || unpacked->size() != records.size()) abort();
  return *unpacked;
}

// Readers see the same.
void CheckThatItDecodes(const Record& before, const OwnedRecord& after) {
  if (before.type != after.type) abort();
  if (before.type != RecordType::kReport) return;
  auto report = DecodeReport(before.payload);
  auto unpacked = DecodeReport(after.payload);
  if (report.ok() != unpacked.ok()) abort();
  if (!report.ok()) return;
  if (report->stacks.size() != unpacked->stacks.size() ||
      report->symbols.size() != unpacked->symbols.size() ||
      report->history.size() != unpacked->history.size() || report->id != unpacked->id) {
    abort();
  }
  for (size_t i = 0; i < report->stacks.size(); ++i) {
    if (report->stacks[i].frames.size() != unpacked->stacks[i].frames.size()) abort();
  }
}

// A message that was packed and unpacked once, with its fields in order, does not change any more.
void CheckTheWay(const std::vector<Record>& records) {
  const std::vector<OwnedRecord> once = RoundTrip(records);
  for (size_t i = 0; i < records.size(); ++i) CheckThatItDecodes(records[i], once[i]);
  if (RoundTrip(ViewsOf(once)) != once) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size_bytes);
  auto unpacked = UnpackBatch(bytes, kLimits);
  if (!unpacked.ok() && unpacked.status().message().empty()) abort();
  if (unpacked.ok()) CheckTheWay(ViewsOf(*unpacked));

  auto plain = SplitBatch(bytes);
  if (!plain.ok()) return 0;
  std::erase_if(*plain, [](const Record& record) { return record.type == RecordType::kPacked; });
  CheckTheWay(*plain);
  return 0;
}
