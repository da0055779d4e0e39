// SPDX-License-Identifier: Apache-2.0
// Reports of dispatches that were slow, but no hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "stack/elf/local_symbols.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/sdk/trace/traced_calls.h"

namespace lagwatch {

// Named, so that they can be found by name.
[[gnu::noinline]] void HeavyPartOfSlowTest(int64_t cpu_ns) {
  const int64_t end_ns = base::ThreadCpuNs(gettid()) + cpu_ns;
  while (base::ThreadCpuNs(gettid()) < end_ns) asm volatile("nop" ::: "memory");
}
[[gnu::noinline]] void LightPartOfSlowTest(int64_t cpu_ns) {
  const int64_t end_ns = base::ThreadCpuNs(gettid()) + cpu_ns;
  while (base::ThreadCpuNs(gettid()) < end_ns) asm volatile("" ::: "memory");
}
[[gnu::noinline]] void HandlerOfSlowTest(int64_t ms) {
  LightPartOfSlowTest(ms * base::kNsPerMs / 5);
  HeavyPartOfSlowTest(ms * base::kNsPerMs * 4 / 5);
  asm volatile("" ::: "memory");
}

namespace {

using testing::WaitUntil;

class SlowReportsTest : public SdkTest {
 protected:
  Options SlowOptions() const {
    Options options = TestOptions();
    options.threshold_ms = 10'000;
    options.anr_threshold_ms = 0;
    options.slow.dispatch_ms = 150;
    options.dump.interval_ms = 0;
    options.slow.is_reported = true;
    return options;
  }
  std::vector<report::Report> SlowReports() const {
    std::vector<report::Report> reports = Reports();
    std::erase_if(reports,
                  [](const report::Report& report) { return report.kind != report::HangKind::kSlow; });
    return reports;
  }
  report::Report TheReport() const {
    EXPECT_TRUE(WaitUntil([&] { return !SlowReports().empty(); }));
    const std::vector<report::Report> reports = SlowReports();
    return reports.empty() ? report::Report() : reports[0];
  }

  // "Outer < Inner", from the outermost function inwards, without what called the handler.
  static std::string PathOf(const report::Report& report, uint32_t stack) {
    static stack::LocalSymbols symbols;
    std::string path;
    const std::vector<report::Frame>& frames = report.stacks[stack].frames;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (frame->module == report::kNoModule) continue;
      std::string name;
      for (const report::Symbol& symbol : report.symbols)
        if (symbol.module == frame->module && symbol.function_offset == frame->symbol_offset())
          name = symbol.name;
      const report::Module& module = report.modules[frame->module];
      if (name.empty())
        name = symbols.NameOf(module.path, module.build_id, frame->symbol_offset()).value_or("?");
      path += (path.empty() ? "" : " < ") + name;
    }
    return path;
  }
  struct Node {
    std::string path;
    int64_t wall_ns;
    uint64_t calls;
  };
  static std::vector<Node> TreeOf(const report::Report& report) {
    std::vector<Node> nodes;
    for (const report::Sample& sample : report.samples)
      nodes.push_back({PathOf(report, sample.stack), sample.wall_ns, sample.calls});
    return nodes;
  }
  // Of all nodes below a function with that part in its name.
  static uint64_t TotalNs(const report::Report& report, const std::string& part) {
    uint64_t total_ns = 0;
    for (const Node& node : TreeOf(report))
      if (node.path.find(part) != std::string::npos) total_ns += node.wall_ns;
    return total_ns;
  }
};

TEST_F(SlowReportsTest, TellWhichRecordedCallsTookTheTime) {
  auto monitor = Monitor::Start(SlowOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  {
    ScopedDispatch dispatch(loop, "open");
    ScopedTrace load("load document");
    for (int i = 0; i < 4; ++i) {
      ScopedTrace part("read part");
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    hooked_work([](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr);
  }
  const report::Report report = TheReport();
  EXPECT_EQ(report.loop, "ui");
  EXPECT_EQ(report.tag, "open");
  EXPECT_EQ(report.app, "sdk-test");
  EXPECT_EQ(report.user, "u-1");
  EXPECT_EQ(report.tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(report.threshold_ms, 150u);
  EXPECT_GE(report.elapsed_ns, 260'000'000);
  EXPECT_EQ(TextFactOf(report, "tree_of"), "calls_and_samples");
  EXPECT_LT(FactOf(report, "cpu_percent"), 60);
  EXPECT_EQ(FactOf(report, "foreground"), 1);
  EXPECT_EQ(FactOf(report, "nice"), getpriority(PRIO_PROCESS, 0));
  EXPECT_EQ(TextFactOf(report, "scheduling_policy"), "other");
  EXPECT_THAT(PathOf(report, report.expensive_stack), ::testing::StartsWith("load document < read part < "));
  std::vector<Node> calls = TreeOf(report);
  std::erase_if(calls, [](const Node& node) { return node.calls == 0; });
  ASSERT_GE(calls.size(), 3u);
  EXPECT_EQ(calls[0].path, "load document");
  EXPECT_EQ(calls[0].calls, 1u);
  EXPECT_EQ(calls[1].path, "load document < read part");
  EXPECT_EQ(calls[1].calls, 4u);
  EXPECT_THAT(calls[2].path, ::testing::StartsWith("load document < hooked_work"));
  EXPECT_GE(TotalNs(report, "load document < read part"), 240'000'000u);
  EXPECT_GE(TotalNs(report, "hooked_work"), 20'000'000u);
  EXPECT_LT(TotalNs(report, "hooked_work"), TotalNs(report, "load document < read part"));
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_EQ(Ends()[0].report_id, report.id);
  EXPECT_EQ(Ends()[0].duration_ns, report.elapsed_ns);
  EXPECT_EQ(monitor.stats().hangs, 0u);
}

// A part that covers the whole dispatch leaves the functions in it visible.
TEST_F(SlowReportsTest, HaveTheFunctionsThatSamplesSawInANamedPart) {
  auto monitor = Monitor::Start(SlowOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  WaitForUnwindTables();
  {
    // On the heap, where its address is another one in each run.
    static const std::string name = std::string("compute ") + std::to_string(7);
    ScopedDispatch dispatch(loop, "compute");
    ScopedTrace part(name.c_str());
    HandlerOfSlowTest(500);
  }
  const report::Report report = TheReport();
  const std::string path = PathOf(report, report.expensive_stack);
  EXPECT_THAT(path, ::testing::StartsWith("compute 7 < "));
  EXPECT_THAT(path, ::testing::HasSubstr("HeavyPartOfSlowTest"));
  EXPECT_GT(TotalNs(report, "HeavyPartOfSlowTest"), 2 * TotalNs(report, "LightPartOfSlowTest"));
}

TEST_F(SlowReportsTest, TellFromSamplesWhatNobodyRecorded) {
  auto monitor = Monitor::Start(SlowOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  WaitForUnwindTables();
  const int64_t begin_ns = base::SystemClock().MonoNs();
  {
    ScopedDispatch dispatch(loop, "compute");
    HandlerOfSlowTest(500);
  }
  const bool had_processor = base::SystemClock().MonoNs() - begin_ns < 600 * base::kNsPerMs;
  const report::Report report = TheReport();
  EXPECT_EQ(TextFactOf(report, "tree_of"), "samples");
  EXPECT_THAT(PathOf(report, report.expensive_stack), ::testing::HasSubstr("HandlerOfSlowTest"));
  EXPECT_THAT(PathOf(report, report.expensive_stack), ::testing::HasSubstr("HeavyPartOfSlowTest"));
  EXPECT_LE(report.samples.size(), 30u);
  const uint64_t heavy_ns = TotalNs(report, "HeavyPartOfSlowTest");
  const uint64_t light_ns = TotalNs(report, "LightPartOfSlowTest");
  EXPECT_GT(heavy_ns, 2 * light_ns);
  EXPECT_GE(TotalNs(report, "HandlerOfSlowTest"), heavy_ns + light_ns);
  if (!had_processor) GTEST_SKIP() << "on a busy machine a thread is seldom found on a processor";
  EXPECT_GT(FactOf(report, "cpu_percent"), 80);
  EXPECT_GT(heavy_ns, 300'000'000u);
  EXPECT_GT(light_ns, 50'000'000u);
}

TEST_F(SlowReportsTest, NeitherShortDispatchesNorHangsAreSlow) {
  Options options = SlowOptions();
  options.threshold_ms = 400;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  {
    ScopedDispatch dispatch(loop, "short");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  FreezeUntilReported(loop, "lag");
  {
    ScopedDispatch dispatch(loop, "slow");
    ScopedTrace part("part");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  TheReport();
  monitor.Stop();
  std::vector<std::string> tags;
  for (const report::Report& report : Reports()) tags.push_back(report.tag);
  EXPECT_THAT(tags, ::testing::UnorderedElementsAre("lag", "slow"));
}

TEST_F(SlowReportsTest, OneAtATimeAndNoneUnasked) {
  Options options = SlowOptions();
  options.dump.interval_ms = 3'600'000;
  {
    auto monitor = Monitor::Start(options);
    const Loop loop = monitor.WatchLoop("ui");
    for (const char* tag : {"first", "second"}) {
      ScopedDispatch dispatch(loop, tag);
      ScopedTrace part("part");
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    EXPECT_EQ(TheReport().tag, "first");
  }
  EXPECT_EQ(SlowReports().size(), 1u);
  options.slow.is_reported = false;
  options.trace.is_on = true;
  {
    auto monitor = Monitor::Start(options);
    const Loop loop = monitor.WatchLoop("ui");
    ScopedDispatch dispatch(loop, "third");
    ScopedTrace part("part");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_EQ(SlowReports().size(), 1u);
}

TEST_F(SlowReportsTest, HaveTheStagesOfTheirFrameAndTheWaitOfTheirTask) {
  auto monitor = Monitor::Start(SlowOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  lw_set_foreground(0);
  lw_set_scene("inbox");
  const Loop loop = monitor.WatchLoop("ui");
  {
    ScopedDispatch dispatch(loop, "frame");
    loop.NoteQueueWait(std::chrono::milliseconds(777));
    ScopedTrace part("make frame");
    ScopedFrame frame(loop);
    frame.Stage(LW_STAGE_LAYOUT);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    frame.Stage(LW_STAGE_DRAW);
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  const report::Report report = TheReport();
  EXPECT_GE(FactOf(report, "frame_ms"), 190);
  EXPECT_GE(FactOf(report, "frame_layout_ms"), 150);
  EXPECT_GE(FactOf(report, "frame_draw_ms"), 40);
  EXPECT_EQ(FactOf(report, "frame_input_ms"), -1);
  EXPECT_EQ(FactOf(report, "queue_wait_ms"), 777);
  EXPECT_EQ(FactOf(report, "foreground"), 0);
  EXPECT_EQ(TextFactOf(report, "scene"), "inbox");
}

}  // namespace
}  // namespace lagwatch
