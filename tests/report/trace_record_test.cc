// SPDX-License-Identifier: Apache-2.0
#include "report/format/trace_record.h"

#include <gtest/gtest.h>

#include <string>

#include "report/format/report.h"
#include "tests/report/report_testing.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::FullTraceRecord;

TEST(TraceRecord, DecodingYieldsWhatWasEncoded) {
  TraceRecord record = FullTraceRecord();
  record.trace.assign("\x1f\x8b\0 any bytes", 13);
  record.sample_rate_ppm = 50'000;
  auto decoded = DecodeTraceRecord(EncodeTraceRecord(record));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, record);
}

TEST(TraceRecord, WithoutAReportHasNoIdOfOne) {
  TraceRecord record = FullTraceRecord();
  record.report_id = record.hang_id = {};
  record.cause = 0;
  record.reason = "api";
  auto decoded = DecodeTraceRecord(EncodeTraceRecord(record));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, record);
}

TEST(TraceRecord, NeedsAnIdAndATrace) {
  TraceRecord nameless = FullTraceRecord();
  nameless.id = {};
  EXPECT_FALSE(DecodeTraceRecord(EncodeTraceRecord(nameless)).ok());
  TraceRecord empty = FullTraceRecord();
  empty.trace.clear();
  EXPECT_FALSE(DecodeTraceRecord(EncodeTraceRecord(empty)).ok());
}

TEST(TraceRecord, EveryCutIsEitherRefusedOrSomethingLess) {
  const std::string bytes = EncodeTraceRecord(FullTraceRecord());
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto record = DecodeTraceRecord(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(record.ok() && *record == FullTraceRecord()) << size;
  }
}

TEST(TraceRecord, TakesTheSampleRateThatIsAppended) {
  std::string bytes = EncodeTraceRecord(FullTraceRecord());
  AppendSampleRate(RecordType::kTrace, 50'000, &bytes);
  auto decoded = DecodeTraceRecord(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->sample_rate_ppm, 50'000u);
}

TEST(TraceRecord, TravelsInABatchByItsNumber) {
  const std::string bytes = EncodeTraceRecord(FullTraceRecord());
  std::string batch;
  AppendToBatch({RecordType::kTrace, bytes}, &batch);
  auto records = SplitBatch(batch);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front().type, RecordType::kTrace);
  EXPECT_EQ(records->front().payload, bytes);
}

}  // namespace
}  // namespace lagwatch::report
