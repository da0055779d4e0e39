// SPDX-License-Identifier: Apache-2.0
// The whole way of dispatch times: from a loop through the flight recorder and a trace on disk to slices, for
// a program that knows itself what it did when.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "report/format/trace_record.h"
#include "stack/elf/local_symbols.h"
#include "tests/sdk/sdk_testing.h"
#include "trace/format/trace_codec.h"
#include "trace/model/slices.h"
#include "trace/model/weights.h"

namespace lagwatch {

inline int64_t NowInTraceTest() { return base::SystemClock().MonoNs(); }

// Named, so that they can be found by name. They differ in one instruction, or they would be merged.
[[gnu::noinline]] void HandleLongOfTraceTest(int64_t cpu_ns) {
  const int64_t end_ns = base::ThreadCpuNs(gettid()) + cpu_ns;
  while (base::ThreadCpuNs(gettid()) < end_ns) asm volatile("nop" ::: "memory");
}
[[gnu::noinline]] void HandleShortOfTraceTest(int64_t cpu_ns) {
  const int64_t end_ns = base::ThreadCpuNs(gettid()) + cpu_ns;
  while (base::ThreadCpuNs(gettid()) < end_ns) asm volatile("" ::: "memory");
}

namespace {

using testing::WaitUntil;

constexpr int64_t kLongNs = 30 * base::kNsPerMs;
constexpr int64_t kShortNs = 4 * base::kNsPerMs;
constexpr int64_t kTinyNs = base::kNsPerMs / 4;
constexpr int64_t kToleranceNs = base::kNsPerMs / 10;

// The program's knowledge of a dispatch: each end of it lay between two readings of the clock.
struct Known {
  int64_t before_begin_ns;
  int64_t after_begin_ns;
  int64_t before_end_ns;
  int64_t after_end_ns;
  std::string tag;
};

class TraceDispatchesTest : public SdkTest {
 protected:
  void Dispatch(Loop loop, const char* tag, void (*handle)(int64_t), int64_t cpu_ns) {
    Known known{};
    known.tag = tag;
    known.before_begin_ns = NowInTraceTest();
    {
      ScopedDispatch dispatch(loop, tag);
      known.after_begin_ns = NowInTraceTest();
      handle(cpu_ns);
      known.before_end_ns = NowInTraceTest();
    }
    known.after_end_ns = NowInTraceTest();
    known_.push_back(known);
  }

  trace::Trace TheTrace() const {
    for (const report::OwnedRecord& record : ReadSpool()) {
      if (record.type != report::RecordType::kTrace) continue;
      auto trace = trace::UnpackTrace(report::DecodeTraceRecord(record.payload).value().trace);
      EXPECT_TRUE(trace.ok());
      return std::move(trace).value();
    }
    return {};
  }

  std::vector<Known> known_;
};

const trace::Thread* ThisThread(const trace::Trace& trace) {
  const auto found = std::ranges::find(trace.threads, gettid(), &trace::Thread::tid);
  return found == trace.threads.end() ? nullptr : &*found;
}

bool IsNamed(const trace::Trace& trace, uint32_t frame, const std::string& part) {
  static stack::LocalSymbols symbols;
  static std::map<uint32_t, std::string> names;
  const auto [place, is_new] = names.try_emplace(frame);
  const trace::NamedFrame& facts = trace.frames[frame];
  if (is_new && facts.module != trace::kNoIndex) {
    const trace::Module& module = trace.modules[facts.module];
    place->second = symbols.NameOf(module.path, module.build_id, facts.offset).value_or("");
  }
  return place->second.find(part) != std::string::npos;
}

int64_t TotalOfSlices(const trace::Trace& trace, const trace::Track& track, const std::string& function) {
  int64_t total_ns = 0;
  for (const trace::Slice& slice : track.slices)
    if (IsNamed(trace, slice.frame, function)) total_ns += slice.end_ns - slice.begin_ns;
  return total_ns;
}

int64_t TotalOfWeights(const trace::Trace& trace, const std::string& function) {
  int64_t total_ns = 0;
  const trace::StackWeights weights = trace::WeighStacks(trace);
  for (const trace::StackTime& weighted : weights.stacks) {
    bool is_in = false;
    for (uint32_t node = weighted.stack; node != trace::kNoIndex; node = weights.nodes[node].parent)
      is_in |= IsNamed(trace, weights.nodes[node].frame, function);
    if (is_in) total_ns += weighted.time_ns;
  }
  return total_ns;
}

void ExpectTimes(const trace::Thread& thread, size_t id, const Known& known) {
  const auto found = std::ranges::find(thread.dispatches, id, &trace::Dispatch::id);
  ASSERT_NE(found, thread.dispatches.end()) << known.tag << ' ' << id;
  EXPECT_EQ(found->tag, known.tag);
  EXPECT_GE(found->begin_ns, known.before_begin_ns - kToleranceNs);
  EXPECT_LE(found->begin_ns, known.after_begin_ns + kToleranceNs);
  EXPECT_GE(found->end_ns, known.before_end_ns - kToleranceNs);
  EXPECT_LE(found->end_ns, known.after_end_ns + kToleranceNs);
}

void ExpectNoSliceInTwo(const trace::Thread& thread, const trace::Track& track) {
  for (const trace::Slice& slice : track.slices) {
    for (const trace::Dispatch& dispatch : thread.dispatches) {
      const bool is_apart = slice.end_ns <= dispatch.begin_ns || slice.begin_ns >= dispatch.end_ns;
      const bool is_inside = slice.begin_ns >= dispatch.begin_ns && slice.end_ns <= dispatch.end_ns;
      EXPECT_TRUE(is_inside || (is_apart && slice.dispatch != dispatch.id))
          << slice.begin_ns << '-' << slice.end_ns << " of " << slice.dispatch << " and dispatch "
          << dispatch.id << ' ' << dispatch.begin_ns << '-' << dispatch.end_ns;
    }
  }
}

double ErrorOf(int64_t found_ns, int64_t true_ns) {
  return std::abs(static_cast<double>(found_ns) / static_cast<double>(true_ns) - 1);
}

TEST_F(TraceDispatchesTest, AreThoseThatTheProgramKnows) {
  Options options = TestOptions();
  options.trace.is_on = true;
  options.trace.interval_ms = 10;
  options.trace.before_s = 60;
  options.threshold_ms = 60'000;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  const Loop loop = monitor.WatchLoop("ui");
  WaitForUnwindTables();
  const int64_t begin_ns = NowInTraceTest();
  const int64_t begin_cpu_ns = base::ThreadCpuNs(gettid());
  for (int i = 0; i < 60; ++i) {
    Dispatch(loop, "long", HandleLongOfTraceTest, kLongNs);
    Dispatch(loop, "long", HandleLongOfTraceTest, kLongNs);
    for (int j = 0; j < 5; ++j) Dispatch(loop, "short", HandleShortOfTraceTest, kShortNs);
    for (int j = 0; j < 8; ++j) Dispatch(loop, "tiny", HandleShortOfTraceTest, kTinyNs);
  }
  const double cpu_ns = static_cast<double>(base::ThreadCpuNs(gettid()) - begin_cpu_ns);
  const bool had_processor = cpu_ns > 0.9 * static_cast<double>(NowInTraceTest() - begin_ns);
  ASSERT_TRUE(monitor.TraceNow());
  ASSERT_TRUE(WaitUntil([&] { return monitor.stats().traces_written == 1; }));
  monitor.Stop();

  const trace::Trace trace = TheTrace();
  const trace::Thread* thread = ThisThread(trace);
  ASSERT_NE(thread, nullptr);
  std::map<std::string, int64_t> known_ns;
  for (size_t i = 0; i < known_.size(); ++i) {
    known_ns[known_[i].tag == "long" ? "long" : "short"] +=
        known_[i].before_end_ns - known_[i].after_begin_ns;
    if (known_[i].tag != "tiny") ExpectTimes(*thread, i + 1, known_[i]);
  }
  size_t met_tiny = 0;
  for (const trace::Run& run : thread->runs) {
    if (run.dispatch == 0 || known_[run.dispatch - 1].tag != "tiny") continue;
    ++met_tiny;
    ExpectTimes(*thread, run.dispatch, known_[run.dispatch - 1]);
  }
  EXPECT_GT(met_tiny, 0u);

  const auto tracks = trace::BuildTracks(trace);
  const auto track = std::ranges::find_if(
      tracks, [&](const trace::Track& each) { return &trace.threads[each.thread] == thread; });
  ASSERT_NE(track, tracks.end());
  ExpectNoSliceInTwo(*thread, *track);
  if (!had_processor) GTEST_SKIP() << "on a busy machine a thread is seldom found on a processor";
  const int64_t slices_ns = TotalOfSlices(trace, *track, "HandleLongOfTraceTest");
  const int64_t long_ns = TotalOfWeights(trace, "HandleLongOfTraceTest");
  const int64_t short_ns = TotalOfWeights(trace, "HandleShortOfTraceTest");
  EXPECT_LT(ErrorOf(slices_ns, known_ns["long"]), 0.03);
  EXPECT_LT(ErrorOf(long_ns, known_ns["long"]), 0.03);
  // Looks meet some of them only.
  EXPECT_LT(ErrorOf(short_ns, known_ns["short"]), 0.25);
  RecordProperty("long_error", std::to_string(ErrorOf(slices_ns, known_ns["long"])));
  RecordProperty("short_error", std::to_string(ErrorOf(short_ns, known_ns["short"])));
}

}  // namespace
}  // namespace lagwatch
