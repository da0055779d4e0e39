// SPDX-License-Identifier: Apache-2.0
// Slow starts, warm and cold.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using report::RecordType;
using testing::WaitUntil;

TEST_F(SdkTest, ReportsASlowStartWithItsMilestones) {
  Options options = TestOptions();
  options.start.kind = LW_START_COLD;
  options.start.cold_ms = 16;
  options.threshold_ms = 3'600'000;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  { ScopedDispatch dispatch(loop, "first"); }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  { ScopedFrame frame(loop); }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  { ScopedDispatch dispatch(loop, "second"); }
  EXPECT_TRUE(Reports().empty());
  lw_ready();
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() == 1; }));
  lw_ready();
  ASSERT_EQ(Reports().size(), 1u);
  report::Report start = Reports()[0];
  EXPECT_EQ(start.kind, report::HangKind::kStartup);
  EXPECT_EQ(start.threshold_ms, 16u);
  EXPECT_EQ(start.app, "sdk-test");
  EXPECT_EQ(start.tag, "cold start");
  EXPECT_EQ(TextFactOf(start, "start"), "cold");
  EXPECT_EQ(FactOf(start, "hangs_before_ready"), 0);
  int64_t dispatch_ms = FactOf(start, "first_dispatch_ms");
  int64_t frame_ms = FactOf(start, "first_frame_ms");
  int64_t ready_ms = FactOf(start, "ready_ms");
  EXPECT_GE(FactOf(start, "library_load_ms"), 0);
  EXPECT_GE(FactOf(start, "monitor_start_ms"), FactOf(start, "library_load_ms"));
  EXPECT_GE(dispatch_ms, FactOf(start, "monitor_start_ms") + 49);
  EXPECT_GE(frame_ms, dispatch_ms + 49);
  EXPECT_GE(ready_ms, frame_ms + 49);
  EXPECT_EQ(start.elapsed_ns / 1'000'000, ready_ms);
  EXPECT_EQ(Ends()[0].report_id, start.id);
  EXPECT_EQ(Ends()[0].duration_ns, start.elapsed_ns);

  // It is reported once in a process.
  monitor.Stop();
  auto second = Monitor::Start(options);
  second.WatchLoop("other");
  lw_ready();
  second.Stop();
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SdkTest, AStartAfterTheSameBuildRanIsWarm) {
  Options options = TestOptions();
  Monitor::Start(options).Stop();
  options.start.kind = LW_START_WATCHED;
  options.start.cold_ms = 3'600'000;
  options.start.warm_ms = 16;
  auto monitor = Monitor::Start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  lw_ready();
  ASSERT_TRUE(WaitUntil([&] { return Reports().size() == 1; }));
  EXPECT_EQ(TextFactOf(Reports()[0], "start"), "warm");
  EXPECT_EQ(FactOf(Reports()[0], "first_dispatch_ms"), -1);
}

TEST_F(SdkTest, AFirstStartIsCold) {
  Options options = TestOptions();
  options.start.kind = LW_START_WATCHED;
  options.start.cold_ms = 3'600'000;
  options.start.warm_ms = 16;
  auto monitor = Monitor::Start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  lw_ready();
  monitor.Stop();
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, SaysNothingOfTheStartUnlessItIsAskedTo) {
  Options options = TestOptions();
  options.start.cold_ms = options.start.warm_ms = 16;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  lw_ready();
  monitor.Stop();
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].kind, report::HangKind::kHang);
}

TEST_F(SdkTest, TellsApartAHangBeforeTheProgramIsReady) {
  Options options = TestOptions();
  options.start.kind = LW_START_COLD;
  options.start.cold_ms = 3'600'000;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "load");
  EXPECT_EQ(Reports().back().kind, report::HangKind::kStartupHang);
  {
    ScopedDeadline scope(loop, "open", 16);
    EXPECT_TRUE(WaitUntil([&] { return Reports().back().kind == report::HangKind::kScope; }));
  }
  EXPECT_EQ(FactOf(Reports().back(), "before_ready"), 1);
  lw_ready();
  FreezeUntilReported(loop, "work");
  EXPECT_EQ(Reports().back().kind, report::HangKind::kHang);
  EXPECT_EQ(FactOf(Reports().back(), "before_ready"), -1);
}

TEST_F(SdkTest, AWithdrawnStartLeavesNoReport) {
  Monitor::Start(TestOptions()).Stop();
  Options options = TestOptions();
  options.start.kind = LW_START_COLD;
  options.start.cold_ms = 16;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "load");
  ASSERT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  lw_withdraw_start();
  EXPECT_TRUE(Reports().empty());
  EXPECT_TRUE(Ends().empty());
  // Reports of the run before are not of this start.
  auto is_run_end = [](const report::OwnedRecord& record) { return record.type == RecordType::kRunEnd; };
  EXPECT_EQ(std::ranges::count_if(ReadSpool(), is_run_end), 1);
  lw_ready();
  FreezeUntilReported(loop, "work");
  lw_withdraw_start();
  monitor.Stop();
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].kind, report::HangKind::kHang);
}

TEST_F(SdkTest, AProgramThatIsReadyCannotWithdrawItsStart) {
  Options options = TestOptions();
  options.start.kind = LW_START_COLD;
  options.start.cold_ms = 16;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "load");
  lw_ready();
  ASSERT_TRUE(WaitUntil([&] { return Reports().size() == 2; }));
  EXPECT_EQ(FactOf(Reports()[1], "hangs_before_ready"), 1);
  lw_withdraw_start();
  EXPECT_EQ(Reports().size(), 2u);
}

}  // namespace
}  // namespace lagwatch
