// SPDX-License-Identifier: Apache-2.0
// A program that has itself recorded: what led to a hang is in the spool, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/function_tag.h"
#include "report/format/trace_record.h"
#include "stack/elf/local_symbols.h"
#include "tests/sdk/sdk_testing.h"
#include "trace/format/trace_codec.h"

namespace lagwatch {

inline void SpinForTraceTest(int64_t ms) {
  const int64_t end_ns = base::SystemClock().MonoNs() + ms * base::kNsPerMs;
  while (base::SystemClock().MonoNs() < end_ns) {
  }
}

// Named, so that they can be found by name.
[[gnu::noinline]] void SlowPartOfTraceTest(const testing::StopFlag& stop) {
  testing::Spin(stop);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] void QuickPartOfTraceTest(int64_t ms = 50) {
  SpinForTraceTest(ms);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void DescendInTraceTest(uint32_t path, int depth) {
  if (depth == 0) {
    SpinForTraceTest(1);
  } else if (path % 2 == 0) {
    DescendInTraceTest(path / 2, depth - 1);
    asm volatile("" ::: "memory");
  } else {
    DescendInTraceTest(path / 2, depth - 1);
    asm volatile("nop" ::: "memory");
  }
}
[[gnu::noinline]] void WanderInTraceTest(const testing::StopFlag& stop, uint32_t seed) {
  while (!stop) {
    seed = seed * 1664525 + 1013904223;
    DescendInTraceTest(seed >> 8, 24);
  }
}

namespace {

using report::TraceRecord;
using testing::WaitUntil;

class TracesTest : public SdkTest {
 protected:
  Options TracingOptions() const {
    Options options = TestOptions();
    options.trace.is_on = true;
    options.trace.interval_ms = 5;
    return options;
  }
  std::vector<TraceRecord> Traces() const {
    std::vector<TraceRecord> traces;
    for (const report::OwnedRecord& record : ReadSpool()) {
      if (record.type != report::RecordType::kTrace) continue;
      auto decoded = report::DecodeTraceRecord(record.payload);
      EXPECT_TRUE(decoded.ok()) << decoded.status().message();
      if (decoded.ok()) traces.push_back(std::move(decoded).value());
    }
    return traces;
  }
  // One dispatch that is slow in one place until a second after its report is on disk.
  void HangIn(Loop loop) {
    const size_t before = Reports().size();
    ScopedDispatch dispatch(loop, "slow");
    testing::StopFlag stop{false};
    std::thread judge([&] {
      EXPECT_TRUE(WaitUntil([&] { return Reports().size() > before; }));
      // On a busy machine a thread is seldom found on a processor.
      std::this_thread::sleep_for(std::chrono::seconds(1));
      stop = true;
    });
    SlowPartOfTraceTest(stop);
    judge.join();
  }
};

// Whether a frame of the run is of a function with `part` in its name.
bool IsIn(const trace::Trace& trace, const trace::Run& run, const std::string& part) {
  static stack::LocalSymbols symbols;
  for (uint32_t node = run.stack; node != trace::kNoIndex; node = trace.nodes[node].parent) {
    const trace::NamedFrame& frame = trace.frames[trace.nodes[node].frame];
    if (frame.module == trace::kNoIndex) continue;
    const trace::Module& module = trace.modules[frame.module];
    const auto name = symbols.NameOf(module.path, module.build_id, frame.offset);
    if (name && name->find(part) != std::string::npos) return true;
  }
  return false;
}

const trace::Thread* ThreadOf(const trace::Trace& trace, int tid) {
  const auto found = std::ranges::find(trace.threads, tid, &trace::Thread::tid);
  return found == trace.threads.end() ? nullptr : &*found;
}

TEST_F(TracesTest, OfAHangHasWhatItDidInItsDispatch) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  WaitForUnwindTables();
  for (int i = 0; i < 3; ++i) {
    ScopedDispatch dispatch(loop, lw_function_tag(reinterpret_cast<uintptr_t>(&QuickPartOfTraceTest)));
    QuickPartOfTraceTest();
  }
  HangIn(loop);  // the fourth dispatch
  ASSERT_TRUE(WaitUntil([&] { return !Traces().empty(); }));
  monitor.Stop();

  const std::vector<report::Report> reports = Reports();
  ASSERT_FALSE(reports.empty());
  const std::vector<TraceRecord> traces = Traces();
  ASSERT_EQ(traces.size(), 1u);
  const TraceRecord& record = traces[0];
  EXPECT_EQ(record.report_id, reports[0].id);
  EXPECT_EQ(record.hang_id, reports[0].hang_id);
  EXPECT_EQ(record.session_id, reports[0].session_id);
  EXPECT_EQ(record.app, "sdk-test");
  EXPECT_EQ(record.user, "u-1");
  EXPECT_EQ(record.reason, "lag");
  EXPECT_NE(record.cause, 0u);
  EXPECT_LE(record.begin_wall_ms, reports[0].start_wall_ms);

  auto trace = trace::UnpackTrace(record.trace);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const trace::Thread* thread = ThreadOf(*trace, gettid());
  ASSERT_NE(thread, nullptr);
  int64_t slow_begin_ns = INT64_MAX;
  int64_t slow_end_ns = INT64_MIN;
  size_t quick_runs = 0;
  for (const trace::Run& run : thread->runs) {
    if (IsIn(*trace, run, "SlowPartOfTraceTest")) {
      EXPECT_EQ(run.dispatch, 4u);
      slow_begin_ns = std::min(slow_begin_ns, run.begin_ns);
      slow_end_ns = std::max(slow_end_ns, run.end_ns);
    } else if (IsIn(*trace, run, "QuickPartOfTraceTest")) {
      EXPECT_TRUE(run.dispatch >= 1 && run.dispatch <= 3) << run.dispatch;
      ++quick_runs;
    }
  }
  EXPECT_GT(slow_end_ns - slow_begin_ns, 50 * base::kNsPerMs);
  EXPECT_GT(quick_runs, 0u);
  // A function that is a tag has its place: readers name it.
  ASSERT_FALSE(thread->dispatches.empty());
  const auto place = base::ParseFunctionTag(thread->dispatches[0].tag);
  ASSERT_TRUE(place) << thread->dispatches[0].tag;
  EXPECT_EQ(place->file_name, std::filesystem::read_symlink("/proc/self/exe").filename());
  stack::LocalSymbols symbols;
  std::string name;
  place->VisitModules(trace->modules, [&](const trace::Module& module) {
    name = symbols.NameOf(module.path, module.build_id, place->offset).value_or("");
    return true;
  });
  EXPECT_NE(name.find("QuickPartOfTraceTest"), std::string::npos) << name;
}

TEST_F(TracesTest, AreNotTakenUnlessAskedFor) {
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  HangIn(monitor.WatchLoop("ui"));
  ASSERT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  EXPECT_FALSE(monitor.TraceNow());
  monitor.Stop();
  EXPECT_TRUE(Traces().empty());
}

TEST_F(TracesTest, OfAHangThatGoesOnWhileTheMonitorStopsIsWritten) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  ScopedDispatch dispatch(loop, "endless");
  ASSERT_TRUE(WaitUntil([&] {
    SpinForTraceTest(10);
    return !Reports().empty();
  }));
  monitor.Stop();
  ASSERT_EQ(Traces().size(), 1u);
  EXPECT_EQ(Traces()[0].report_id, Reports()[0].id);
}

TEST_F(TracesTest, OfAnAnrIsTakenWhileItGoesOn) {
  Options options = TracingOptions();
  options.anr_threshold_ms = 300;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  {
    ScopedDispatch dispatch(loop, "endless");
    ASSERT_TRUE(WaitUntil([&] {
      SpinForTraceTest(10);
      return !Traces().empty();
    }));
  }
  ASSERT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  monitor.Stop();
  ASSERT_EQ(Traces().size(), 1u);
  EXPECT_EQ(Traces()[0].reason, "anr");
}

TEST_F(TracesTest, CanBeAskedForWithoutAReport) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  WaitForUnwindTables();
  QuickPartOfTraceTest(1000);
  EXPECT_TRUE(monitor.TraceNow());
  EXPECT_FALSE(monitor.TraceNow());  // so soon
  ASSERT_TRUE(WaitUntil([&] { return !Traces().empty(); }));
  EXPECT_TRUE(WaitUntil([&] { return monitor.stats().traces_written == 1; }));
  monitor.Stop();
  EXPECT_TRUE(Reports().empty());
  EXPECT_EQ(Traces()[0].reason, "api");
  EXPECT_EQ(Traces()[0].report_id, base::Uuid{});
  EXPECT_EQ(Traces()[0].cause, 0u);
  auto trace = trace::UnpackTrace(Traces()[0].trace);
  ASSERT_TRUE(trace.ok());
  const trace::Thread* thread = ThreadOf(*trace, gettid());
  ASSERT_NE(thread, nullptr);
  EXPECT_TRUE(std::ranges::any_of(
      thread->runs, [&](const trace::Run& run) { return IsIn(*trace, run, "QuickPartOfTraceTest"); }));
}

TEST_F(TracesTest, ComeWithDumps) {
  Options options = TracingOptions();
  options.dump.signal = SIGUSR2;
  options.dump.interval_ms = 0;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  QuickPartOfTraceTest();
  ASSERT_TRUE(monitor.DumpNow("look"));
  ASSERT_TRUE(WaitUntil([&] { return Traces().size() == 1; }));
  raise(SIGUSR2);
  ASSERT_TRUE(WaitUntil([&] { return Traces().size() == 2; }));
  monitor.Stop();
  const std::vector<TraceRecord> traces = Traces();
  const std::vector<report::Report> reports = Reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(traces[0].reason, "api");
  EXPECT_EQ(traces[0].report_id, reports[0].id);
  EXPECT_EQ(traces[1].reason, "signal");
  EXPECT_EQ(traces[1].report_id, reports[1].id);
}

TEST_F(TracesTest, OfADispatchThatIsNoHangAreTakenIfAskedFor) {
  Options options = TracingOptions();
  options.threshold_ms = 60'000;
  options.trace.slow_ms = 20;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  ASSERT_TRUE(WaitUntil([&] {
    ScopedDispatch dispatch(loop, "slow");
    QuickPartOfTraceTest();
    return !Traces().empty();
  }));
  monitor.Stop();
  EXPECT_TRUE(Reports().empty());
  ASSERT_EQ(Traces().size(), 1u);
  EXPECT_EQ(Traces()[0].reason, "slow");
}

TEST_F(TracesTest, ThatAreTooLargeAreMadeShorter) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "it delays signals until their stacks are gone, or loses what a handler acquired in a sleep";
#endif
  Options options = TracingOptions();
  options.trace.interval_ms = 1;
  options.trace.max_kib = 4;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  // Threads of many different stacks.
  testing::StopFlag stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { WanderInTraceTest(stop, static_cast<uint32_t>(i)); });
  // Whether the newest trace was cut. A busy machine leaves samples out: then it may be small enough as it
  // is.
  auto is_shortened = [&] {
    const std::vector<report::TraceRecord> traces = Traces();
    if (traces.empty()) return false;
    EXPECT_LE(traces.back().trace.size(), 4u << 10);
    const auto trace = trace::UnpackTrace(traces.back().trace);
    EXPECT_TRUE(trace.ok());
    return trace.ok() && std::ranges::any_of(trace->losses, [](const trace::Loss& loss) {
             return loss.remedy == "trace_max_kib";
           });
  };
  uint64_t asked = 0;
  EXPECT_TRUE(WaitUntil([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_TRUE(monitor.TraceNow());
    ++asked;
    EXPECT_TRUE(
        WaitUntil([&] { return monitor.stats().traces_written + monitor.stats().traces_dropped >= asked; }));
    return is_shortened();
  }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TracesTest, AreNotTakenInAForkedChild) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  QuickPartOfTraceTest(300);  // what was seen is collected every 100 ms
  EXPECT_EQ(InForkedChild([] { return lw_trace_now(); }), 0);
  EXPECT_TRUE(monitor.TraceNow());
  monitor.Stop();
  EXPECT_EQ(Traces().size(), 1u);
}

}  // namespace
}  // namespace lagwatch
