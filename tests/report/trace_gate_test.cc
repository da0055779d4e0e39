// SPDX-License-Identifier: Apache-2.0
// The choice of traces to send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/format/trace_record.h"
#include "report/spool/spool_sweep.h"
#include "report/upload/upload_gate.h"
#include "tests/report/upload/upload_testing.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::kDayMs;
using lagwatch::testing::ModelCollector;
using lagwatch::testing::NewId;
using lagwatch::testing::ReportRecord;
using lagwatch::testing::SealedRecord;
using policies::UserSampling;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TraceGateTest : public ::testing::Test {
 protected:
  void Send() {
    SpoolSender sender(&base::SystemEnv(), spool_.path(), &collector_, &namer_, clock_);
    sender.SetPolicies([this] { return policies_; });
    while (sender.UploadOnce()) {
    }
  }
  static OwnedRecord TraceOf(const base::Uuid& report_id, uint64_t cause, size_t size_bytes = 100) {
    return {RecordType::kTrace, EncodeTraceRecord({.id = NewId(),
                                                   .report_id = report_id,
                                                   .hang_id = report_id,
                                                   .app = "editor",
                                                   .app_version = "2.3.1",
                                                   .user = "u-71",
                                                   .reason = report_id == base::Uuid{} ? "api" : "lag",
                                                   .trace = std::string(size_bytes, 't'),
                                                   .cause = cause})};
  }
  // A report and its trace, in segments of their own as the SDK writes them.
  void AddHang(uint64_t function_offset) {
    const base::Uuid id = NewId();
    spool_.Add({ReportRecord({.id = id, .function_offset = function_offset})});
    spool_.Add({TraceOf(id, function_offset)});
  }

  lagwatch::testing::ScopedSpool spool_;
  lagwatch::testing::SetClock clock_;
  lagwatch::testing::NoNames namer_;
  ModelCollector collector_;
  UploadPolicies policies_{.losses_wait_ms = 0};
};

TEST_F(TraceGateTest, TracesGoWithTheirReports) {
  AddHang(0x1000);
  spool_.Add({TraceOf({}, 0)});
  Send();
  EXPECT_THAT(collector_.reports, SizeIs(1));
  EXPECT_THAT(collector_.traces, SizeIs(2));
  EXPECT_EQ(collector_.LossesTold(), 0u);
  EXPECT_THAT(spool_.Files(".seg"), IsEmpty());
}

TEST_F(TraceGateTest, ATraceWhoseReportIsNotSentIsNotSentNorCounted) {
  policies_.quota = {.per_day = policies::QuotaLimits::kNoLimit, .per_cluster = 1};
  for (int i = 0; i < 3; ++i) AddHang(0x1000);
  Send();
  EXPECT_THAT(collector_.reports, SizeIs(1));
  EXPECT_THAT(collector_.traces, SizeIs(1));
  EXPECT_EQ(collector_.LossesTold(), 2u);  // reports
  EXPECT_THAT(spool_.Files(".seg"), IsEmpty());
}

TEST_F(TraceGateTest, WhoIsNotSampledSendsNone) {
  policies_.sampling = {.rate_ppm = 0};
  AddHang(0x1000);
  spool_.Add({TraceOf({}, 0)});
  Send();
  EXPECT_THAT(collector_.traces, IsEmpty());
  EXPECT_EQ(collector_.LossesTold(LossReason::kNotSampled), 1u);
}

TEST_F(TraceGateTest, TheRateIsTold) {
  policies_.sampling = {.rate_ppm = UserSampling::kAllPpm - 1};
  AddHang(0x1000);
  Send();
  ASSERT_THAT(collector_.traces, SizeIs(1));
  EXPECT_EQ(collector_.traces[0].sample_rate_ppm, UserSampling::kAllPpm - 1);
}

TEST_F(TraceGateTest, TracesHaveAQuotaOfTheirOwn) {
  policies_.traces = {.per_day = 3, .per_cause = 2};
  for (int i = 0; i < 4; ++i) AddHang(0x1000);
  for (uint64_t i = 0; i < 4; ++i) AddHang(0x2000 + i);
  Send();
  EXPECT_THAT(collector_.reports, SizeIs(8));
  EXPECT_THAT(collector_.traces, SizeIs(3));
  EXPECT_EQ(collector_.LossesTold(), 0u);
  EXPECT_THAT(spool_.Files(".seg"), IsEmpty());
  clock_.now_wall_ms += kDayMs;
  AddHang(0x1000);
  Send();
  EXPECT_THAT(collector_.traces, SizeIs(4));
}

TEST_F(TraceGateTest, ADayHasSoManyBytes) {
  policies_.traces.kib_per_day = 100;
  policies_.traces.per_day = 3;  // of those that are sent
  for (int i = 0; i < 5; ++i) spool_.Add({TraceOf({}, 0, 40'000)});
  spool_.Add({TraceOf({}, 0, 5'000)});
  Send();
  EXPECT_THAT(collector_.traces, SizeIs(3));  // two large ones, and the small one
}

TEST_F(TraceGateTest, ReportsAreSentFirst) {
  const base::Uuid first = NewId();
  spool_.Add({ReportRecord({.id = first})});
  for (int i = 0; i < 3; ++i) spool_.Add({TraceOf(first, 7, 600'000)});
  spool_.Add({ReportRecord({.id = NewId(), .function_offset = 0x2000})});
  size_t traces_at_first = 0;
  collector_.on_stored = [&] {
    if (collector_.posts == 1) traces_at_first = collector_.traces.size();
    EXPECT_THAT(collector_.reports, SizeIs(2));
  };
  Send();
  EXPECT_LT(traces_at_first, 3u);
  EXPECT_THAT(collector_.traces, SizeIs(3));
}

TEST_F(TraceGateTest, ASealedTraceGoesByTheReportThatItNames) {
  policies_.quota = {.per_day = policies::QuotaLimits::kNoLimit, .per_cluster = 1};
  for (int i = 0; i < 2; ++i) {
    const base::Uuid id = NewId();
    spool_.Add({SealedRecord({RecordType::kReport, id, 7, 2})});
    spool_.Add({SealedRecord({RecordType::kTrace, id, 7, 0})});
  }
  Send();
  EXPECT_THAT(collector_.sealed, SizeIs(2));  // one of each
}

class NothingIsCounted final : public SweepVisitor {
 public:
  bool OnRemoval(const std::string&, const SegmentFacts& segment, policies::RemovalReason) override {
    for (const RecordFacts& record : segment.records) EXPECT_EQ(record.type, RecordType::kTrace);
    return true;
  }
};

TEST_F(TraceGateTest, TracesAreTheFirstToGoWhereThereIsNoRoom) {
  spool_.Add({TraceOf({}, 0, 10'000)});
  for (int i = 0; i < 20; ++i)
    spool_.Add({ReportRecord({.id = NewId(), .kind = HangKind::kFrames, .function_offset = 0x1000})});
  for (int i = 0; i < 2; ++i) spool_.Add({TraceOf({}, 0, 10'000)});
  NothingIsCounted visitor;
  SweepLimits limits;
  limits.retention.total_bytes = 20'000;
  auto swept = SweepSpool(&base::SystemEnv(), spool_.path(), limits, base::SystemClock().WallMs(), &visitor);
  ASSERT_TRUE(swept.ok());
  EXPECT_GT(swept->segments_removed, 0u);
}

}  // namespace
}  // namespace lagwatch::report
