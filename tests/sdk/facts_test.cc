// SPDX-License-Identifier: Apache-2.0
// A report's facts of the process, the machine, the watchdog, and the program's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/format/report.h"
#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

TEST_F(SdkTest, ReportsTellOfTheProcessTheMachineAndTheWatchdogItself) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  std::vector<int> files;
  for (int i = 0; i < 100; ++i) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  // On a loaded machine the thread may get no processor in time to answer a capture's signal.
  report::Report hang;
  for (int i = 0; i < 10 && FactOf(hang, "capture_pause_us") <= 0; ++i) {
    FreezeUntilReported(loop, "freeze");
    hang = Reports().back();
  }
  for (int fd : files) close(fd);
  EXPECT_GE(FactOf(hang, "open_fds"), 100);
  EXPECT_LT(FactOf(hang, "open_fds"), 1000);
  EXPECT_GE(FactOf(hang, "threads"), 3);  // this one, the judge, the watchdog
  EXPECT_GT(FactOf(hang, "rss_bytes"), 1 << 20);
  EXPECT_GE(FactOf(hang, "load_1min_permille"), 0);
  EXPECT_GT(FactOf(hang, "watchdog_cpu_us"), 0);
  EXPECT_GE(FactOf(hang, "capture_signals"), 1);
  EXPECT_GT(FactOf(hang, "capture_pause_us"), 0);
  EXPECT_EQ(FactOf(hang, "handler_lost"), -1);
  lw_stats stats = monitor.stats();
  EXPECT_GE(stats.watchdog_cpu_ns, static_cast<uint64_t>(FactOf(hang, "watchdog_cpu_us")) * 1000);
  EXPECT_GE(stats.capture_pause_ns, static_cast<uint64_t>(FactOf(hang, "capture_pause_us")) * 1000);
}

TEST_F(SdkTest, ReportsWhatTheProgramSaysOfItself) {
  lw_set_scene("export");
  EXPECT_EQ(lw_set_value("document_kib", "17"), 1);
  EXPECT_EQ(lw_set_value("plugin", "spelling"), 1);
  EXPECT_EQ(lw_set_value("plugin", nullptr), 1);
  EXPECT_EQ(lw_set_value("", "no key"), 0);
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  EXPECT_EQ(TextFactOf(Reports()[0], "scene"), "export");
  EXPECT_EQ(TextFactOf(Reports()[0], "app.document_kib"), "17");
  EXPECT_EQ(TextFactOf(Reports()[0], "app.plugin"), "");
}

TEST_F(SdkTest, CountsUseByTheProgramsOwnValues) {
  Options options = TestOptions();
  options.detection.usage_keys = "experiment, scene,,a key that is much longer than 32 bytes,experiment";
  {
    auto monitor = Monitor::Start(options);
    auto loop = monitor.WatchLoop("ui");
    lw_set_scene("inbox");
    lw_set_value("experiment", "old-index");
    FreezeUntilReported(loop, "freeze");
    lw_set_value("experiment", "new-index");
    { ScopedDispatch dispatch(loop, "short"); }
    FreezeUntilReported(loop, "freeze");
    FreezeUntilReported(loop, "freeze");
  }
  std::map<std::string, uint64_t> hangs;
  uint64_t all_hangs = 0;
  for (const report::OwnedRecord& record : ReadSpool()) {
    if (record.type != report::RecordType::kUsage) continue;
    const report::Usage usage = report::DecodeUsage(record.payload).value();
    for (const report::LoopUsage& each : usage.loops) all_hangs += each.usage.hangs;
    for (const report::ValueUsage& each : usage.values) {
      hangs[each.key + "=" + each.value] += each.usage.hangs;
      EXPECT_LE(each.usage.hang_ns, each.usage.watched_ns + base::kNsPerSecond);
    }
  }
  EXPECT_EQ(hangs["experiment=old-index"], 1u);
  EXPECT_EQ(hangs["experiment=new-index"], 2u);
  EXPECT_EQ(hangs["scene=inbox"], 3u);
  EXPECT_EQ(all_hangs, 3u);
}

}  // namespace
}  // namespace lagwatch
