// SPDX-License-Identifier: Apache-2.0
#include "report/format/losses.h"

#include <gtest/gtest.h>

#include <string>

#include "report/format/report.h"
#include "tests/report/report_testing.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::FullReport;
using lagwatch::testing::IdOf;

Losses FullLosses() {
  return {.id = IdOf("losses-012345678"),
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71",
          .begin_wall_ms = 1'700'000'000'000,
          .end_wall_ms = 1'700'000'003'000,
          .losses = {{LossReason::kDayIsFull, 0xfedc'ba98'7654'3210, 3, 50'000},
                     {LossReason::kRefused, 0, 1, 0}}};
}

TEST(Losses, DecodingYieldsWhatWasEncoded) {
  auto losses = DecodeLosses(EncodeLosses(FullLosses()));
  ASSERT_TRUE(losses.ok()) << losses.status().message();
  EXPECT_EQ(*losses, FullLosses());
}

TEST(Losses, NeedAnId) {
  Losses losses = FullLosses();
  losses.id = {};
  EXPECT_FALSE(DecodeLosses(EncodeLosses(losses)).ok());
}

TEST(Losses, EveryCutIsEitherRefusedOrSomethingLess) {
  const std::string bytes = EncodeLosses(FullLosses());
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto losses = DecodeLosses(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(losses.ok() && *losses == FullLosses()) << size;
  }
}

TEST(Losses, AReasonOfALaterVersionIsUnknown) {
  Losses losses = FullLosses();
  losses.losses[0].reason = static_cast<LossReason>(kLastLossReason + 1);
  auto decoded = DecodeLosses(EncodeLosses(losses));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->losses[0].reason, LossReason::kUnknown);
}

TEST(Sampling, IsAppendedToAReport) {
  std::string report = FullReport();
  AppendSampleRate(RecordType::kReport, 50'000, &report);
  AppendCause(77, &report);
  auto decoded = DecodeReport(report);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->sample_rate_ppm, 50'000u);
  EXPECT_EQ(decoded->cause, 77u);
}

TEST(Sampling, IsAppendedToTheOtherRecordsOfARun) {
  std::string end = EncodeRunEnd(lagwatch::testing::FullRunEnd());
  AppendSampleRate(RecordType::kRunEnd, 50'000, &end);
  EXPECT_EQ(DecodeRunEnd(end)->sample_rate_ppm, 50'000u);
  std::string usage = lagwatch::testing::EncodeUsage(lagwatch::testing::FullUsage());
  AppendSampleRate(RecordType::kUsage, 50'000, &usage);
  EXPECT_EQ(DecodeUsage(usage)->sample_rate_ppm, 50'000u);
  std::string slice = lagwatch::testing::FullFrameSlice();
  AppendSampleRate(RecordType::kFrameSlice, 50'000, &slice);
  EXPECT_EQ(DecodeFrameSlice(slice)->sample_rate_ppm, 50'000u);
}

}  // namespace
}  // namespace lagwatch::report
