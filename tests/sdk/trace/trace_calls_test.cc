// SPDX-License-Identifier: Apache-2.0
// Parts that the program names and functions that report their calls, in the trace of a hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "report/format/trace_record.h"
#include "stack/elf/local_symbols.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/sdk/trace/traced_calls.h"
#include "trace/format/trace_codec.h"
#include "trace/model/joint_tree.h"

namespace lagwatch {
namespace {

using testing::WaitUntil;

class TraceCallsTest : public SdkTest {
 protected:
  Options TracingOptions() const {
    Options options = TestOptions();
    options.trace.is_on = true;
    return options;
  }

  // The trace of one dispatch that does `body`, which is in it until it has been reported.
  trace::Trace TraceOf(const Monitor& monitor, void (*body)(void (*)(void*), void*)) {
    const Loop loop = monitor.WatchLoop("ui");
    {
      ScopedDispatch dispatch(loop, "slow");
      auto until_reported = [](void* self) {
        auto* test = static_cast<TraceCallsTest*>(self);
        EXPECT_TRUE(WaitUntil([&] { return !test->Reports().empty(); }));
      };
      body(until_reported, this);
    }
    EXPECT_TRUE(WaitUntil([&] { return monitor.stats().traces_written == 1; }));
    for (const report::OwnedRecord& record : ReadSpool()) {
      if (record.type != report::RecordType::kTrace) continue;
      auto trace = trace::UnpackTrace(report::DecodeTraceRecord(record.payload).value().trace);
      EXPECT_TRUE(trace.ok());
      return std::move(trace).value();
    }
    return {};
  }

  // Of this thread's calls over a threshold, the names from the outermost inwards, with their durations.
  struct Call {
    std::string name;
    int64_t total_ns;
  };
  static std::vector<Call> LongCalls(const trace::Trace& trace) {
    std::vector<Call> calls;
    const auto thread = std::ranges::find(trace.threads, gettid(), &trace::Thread::tid);
    if (thread == trace.threads.end()) return calls;
    const auto index = static_cast<uint32_t>(thread - trace.threads.begin());
    for (const trace::CallNode& node : BuildJointTree(trace, index, trace.begin_ns, trace.end_ns))
      if (node.count > 0 && node.total_ns > 100 * base::kNsPerMs)
        calls.push_back({NameOf(trace, node.frame), node.total_ns});
    return calls;
  }
  static std::string NameOf(const trace::Trace& trace, uint32_t index) {
    static stack::LocalSymbols symbols;
    const trace::NamedFrame& frame = trace.frames[index];
    if (!frame.name.empty() || frame.module == trace::kNoIndex) return frame.name;
    const trace::Module& module = trace.modules[frame.module];
    return symbols.NameOf(module.path, module.build_id, frame.offset).value_or("");
  }
};

MATCHER_P(IsCallOf, name, "") { return arg.name.find(name) != std::string::npos; }

TEST_F(TraceCallsTest, ANamedPartIsInTheTraceOfItsHang) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const trace::Trace trace = TraceOf(monitor, [](void (*work)(void*), void* context) {
    ScopedTrace outer("load document");
    for (int i = 0; i < 3; ++i) ScopedTrace quick("read header");
    lw_trace_begin("parse outline");
    work(context);
    lw_trace_end("parse outline");
  });
  const auto calls = LongCalls(trace);
  ASSERT_THAT(calls, ::testing::ElementsAre(IsCallOf("load document"), IsCallOf("parse outline")));
  EXPECT_GE(calls[0].total_ns, calls[1].total_ns);
}

TEST_F(TraceCallsTest, InstrumentedFunctionsAreInTheTraceOfTheirHang) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const trace::Trace trace = TraceOf(monitor, &hooked_work);
  EXPECT_THAT(LongCalls(trace), ::testing::ElementsAre(IsCallOf("hooked_work"), IsCallOf("hooked_part")));
}

TEST_F(TraceCallsTest, PatchedFunctionsAreInTheTraceOfTheirHangIfAskedFor) {
#ifndef __x86_64__
  GTEST_SKIP() << "code is patched on x86-64 only";
#endif
  Options options = TracingOptions();
  options.trace.patch = "no-such-module,sdk_test*";
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const trace::Trace trace = TraceOf(monitor, &patchable_work);
  EXPECT_THAT(LongCalls(trace),
              ::testing::ElementsAre(IsCallOf("patchable_work"), IsCallOf("patchable_part")));
}

TEST_F(TraceCallsTest, RulesChooseThePatchedFunctions) {
#ifndef __x86_64__
  GTEST_SKIP() << "code is patched on x86-64 only";
#endif
  const testing::ScopedTempDirectory directory;
  Options options = TracingOptions();
  options.trace.patch = "sdk_test*";
  options.trace.rules = directory / "some.rules";
  std::ofstream(options.trace.rules) << "+ patchable_*\n- patchable_part\n";
  {
    auto monitor = Monitor::Start(options);
    ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
    EXPECT_THAT(LongCalls(TraceOf(monitor, &patchable_work)),
                ::testing::ElementsAre(IsCallOf("patchable_work")));
  }
}

TEST_F(TraceCallsTest, NothingIsPatchedByRulesThatCannotBeRead) {
  Options options = TracingOptions();
  options.trace.patch = "sdk_test*";
  options.trace.rules = "/nowhere/some.rules";
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  EXPECT_THAT(LongCalls(TraceOf(monitor, &patchable_work)), ::testing::IsEmpty());
}

TEST_F(TraceCallsTest, NothingIsPatchedUnasked) {
  auto monitor = Monitor::Start(TracingOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  EXPECT_THAT(LongCalls(TraceOf(monitor, &patchable_work)), ::testing::IsEmpty());
}

// Threads may be in a recorded call while the monitor stops: what they write to stays.
TEST_F(TraceCallsTest, ThreadsGoOnWhileTheMonitorStopsAndStarts) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::atomic<uint64_t> calls{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        ScopedTrace part("part");
        hooked_work([](void* count) { ++*static_cast<std::atomic<uint64_t>*>(count); }, &calls);
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    auto monitor = Monitor::Start(TracingOptions());
    ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
    const uint64_t before = calls;
    EXPECT_TRUE(WaitUntil([&] { return calls > before + 10'000; }));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lagwatch
