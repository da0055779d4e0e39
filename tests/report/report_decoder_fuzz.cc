// SPDX-License-Identifier: Apache-2.0
// Whatever a client sends: decoded, or refused in words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "report/format/losses.h"
#include "report/format/report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch::report;
  std::string_view bytes(reinterpret_cast<const char*>(data), size_bytes);
  auto report = DecodeReport(bytes);
  if (!report.ok() && report.status().message().empty()) abort();
  if (report.ok() && report->expensive_stack >= report->stacks.size()) abort();
  auto end = DecodeHangEnd(bytes);
  if (!end.ok() && end.status().message().empty()) abort();
  auto run_end = DecodeRunEnd(bytes);
  if (!run_end.ok() && run_end.status().message().empty()) abort();
  auto frames = DecodeFrameSlice(bytes);
  if (!frames.ok() && frames.status().message().empty()) abort();
  auto usage = DecodeUsage(bytes);
  if (!usage.ok() && usage.status().message().empty()) abort();
  auto losses = DecodeLosses(bytes);
  if (!losses.ok() && losses.status().message().empty()) abort();
  auto records = SplitBatch(bytes);
  if (!records.ok()) return 0;
  for (const Record& record : *records) (void)DecodeReport(record.payload).ok();
  return 0;
}
