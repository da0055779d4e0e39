// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collector/store/clickhouse/server/schema.h"

namespace lagwatch::collector {
namespace {

// Tables are never altered, and batches that an earlier collector left have its columns.
TEST(ReportTable, KeepsTheColumnsOfItsVersion) {
  EXPECT_EQ(
      kReports.columns,
      "day Date, id FixedString(16), lag_id FixedString(16), session_id FixedString(16), ordinal Int64,"
      " app String, version String, user String, kind String, verdict String, loop String, tag String,"
      " os String, machine String, pid Int64, tid Int64, threshold_ms Int64, start_wall_ms Int64,"
      " elapsed_ns Int64, cpu_window_ns Int64, cpu_thread_ns Int64, cpu_process_ns Int64, level1 String,"
      " level2 String, sample_rate_ppm Int64, cause Int64, distribution String, ver UInt64, payload String");
  EXPECT_EQ(
      kTraces.columns,
      "day Date, id FixedString(16), session_id FixedString(16), report_id FixedString(16),"
      " lag_id FixedString(16), app String, version String, user String, begin_wall_ms Int64,"
      " duration_ns Int64, reason String, size_bytes Int64, sample_rate_ppm Int64, cause Int64, ver UInt64,"
      " trace String");
}

}  // namespace
}  // namespace lagwatch::collector
