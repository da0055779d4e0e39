// SPDX-License-Identifier: Apache-2.0
#include "trace/model/slices.h"

#include <gmock/gmock.h>

#include "tests/trace/model/trace_builder.h"
#include "trace/model/functions.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::kMs;
using lagwatch::testing::TraceBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Number(int64_t ns) {
  const std::string text = std::to_string(ns / kMs);
  return ns % kMs == 0 ? text : text + "." + std::to_string(ns % kMs / (kMs / 10));
}

// "main[0-25] Load[10-25]", deeper ones behind their parents, with a dot for each level.
std::vector<std::string> Told(const Trace& trace, const Track& track) {
  std::vector<std::string> told;
  for (const Slice& slice : track.slices)
    told.push_back(std::string(slice.depth, '.') + trace.frames[slice.frame].name + " " +
                   Number(slice.begin_ns) + "-" + Number(slice.end_ns) +
                   (slice.is_estimated ? "" : " exact") + (slice.is_unfinished ? " unfinished" : "") +
                   (slice.gap_ns > 0 ? " gap " + Number(slice.gap_ns) : ""));
  return told;
}

Track Sampled(const TraceBuilder& builder) {
  return BuildSampledTrack(builder.trace, 0, FunctionNumbers(builder.trace));
}

std::vector<std::string> ToldOf(TraceBuilder* builder, int64_t end_ms) {
  builder->trace.end_ns = end_ms * kMs;
  return Told(builder->trace, Sampled(*builder));
}

TEST(Slices, GoOnWhereNeighboursShareFramesAndEndAtTheNextLook) {
  TraceBuilder builder;
  builder.Sample(0, "main;Handle;Load");
  builder.Sample(10, "main;Handle;Load;Read");
  builder.Sample(20, "main;Handle;Save");
  EXPECT_THAT(ToldOf(&builder, 100), ElementsAre("main 0-35 gap 5", ".Handle 0-35 gap 5", "..Load 0-20",
                                                 "...Read 10-20", "..Save 20-35 gap 5"));
}

TEST(Slices, EndWithTheTrace) {
  TraceBuilder builder;
  builder.Sample(0, "main");
  EXPECT_THAT(ToldOf(&builder, 4), ElementsAre("main 0-4"));
}

TEST(Slices, AreNotJoinedOverAHoleThatIsLongerThanTheExtension) {
  TraceBuilder builder;
  builder.Sample(0, "main;Work");
  builder.Sample(15, "main;Work");
  builder.Sample(31, "main;Work");
  EXPECT_THAT(ToldOf(&builder, 31),
              ElementsAre("main 0-30 gap 10", ".Work 0-30 gap 10", "main 31-31", ".Work 31-31"));
}

TEST(Slices, GoOnInAMergedRunHoweverLong) {
  TraceBuilder builder;
  builder.Sample(0, "main;Sleep").end_ns = 500 * kMs;
  builder.Sample(510, "main");
  EXPECT_THAT(ToldOf(&builder, 510), ElementsAre("main 0-510", ".Sleep 0-510"));
}

// CPU timers make threads capture themselves, which takes long if they hardly get a processor.
TEST(Slices, GoOnWhileAThreadWaitsForAProcessor) {
  TraceBuilder builder;
  builder.Sample(0, "main;Work").is_running = true;
  builder.Sample(60, "main;Work").is_running = true;
  builder.Sample(100, "main;Rest").is_running = true;
  EXPECT_THAT(ToldOf(&builder, 100), ElementsAre("main 0-100 gap 30", ".Work 0-80 gap 30", ".Rest 80-100"));
}

TEST(Slices, ThreadsThatRanDidNotSleepAtSamplersLooksBefore) {
  TraceBuilder builder;
  builder.Sample(0, "main;Sleep");
  builder.Sample(60, "main;Work").is_running = true;
  builder.Sample(100, "main;Sleep");
  EXPECT_THAT(ToldOf(&builder, 100),
              ElementsAre("main 0-100 gap 25", ".Sleep 0-5", ".Work 5-95 gap 25", ".Sleep 95-100"));
}

TEST(Slices, OfARunningThreadAreAsLongAsItsDispatch) {
  TraceBuilder builder;
  trace::Run& run = builder.Sample(50, "main;Handle");
  run.is_running = true;
  run.dispatch = 7;
  builder.trace.threads[0].dispatches.push_back({7, 3 * kMs, 90 * kMs, "key"});
  EXPECT_THAT(ToldOf(&builder, 200), ElementsAre("main 3-90 gap 30", ".Handle 3-90 gap 30"));
}

TEST(Slices, KeepRecursionByDepth) {
  TraceBuilder builder;
  builder.Sample(0, "main;F;F");
  builder.Sample(10, "main;F;F;F");
  builder.Sample(20, "main;F");
  EXPECT_THAT(ToldOf(&builder, 25), ElementsAre("main 0-25", ".F 0-25", "..F 0-20", "...F 10-20"));
}

TEST(Slices, AreCutWhereTheDispatchChanges) {
  TraceBuilder builder;
  builder.trace.threads[0].dispatches = {{1, 0, 18 * kMs, "a"}, {2, 19 * kMs, 40 * kMs, "b"}};
  builder.Sample(2, "main;Loop;OnKey", 1);
  builder.Sample(12, "main;Loop;OnKey", 1);
  builder.Sample(22, "main;Loop;OnKey", 2);
  EXPECT_THAT(ToldOf(&builder, 30), ElementsAre("main 0-18", ".Loop 0-18", "..OnKey 0-18", "main 19-30",
                                                ".Loop 19-30", "..OnKey 19-30"));
}

TEST(Slices, AreCutByADispatchThatNobodySaw) {
  TraceBuilder builder;
  builder.trace.threads[0].dispatches = {{7, 3 * kMs, 5 * kMs, ""}};
  builder.Sample(0, "main;Loop");
  builder.Sample(10, "main;Loop");
  EXPECT_THAT(ToldOf(&builder, 10), ElementsAre("main 0-3", ".Loop 0-3", "main 5-10", ".Loop 5-10"));
}

// Functions called in a turn of a loop are called again in the next, and the loop itself goes on.
TEST(Slices, OfTwoTurnsOfALoopAreTwo) {
  TraceBuilder builder;
  builder.Wait(0, 0, 2, "main;poll", CallKind::kPoll);
  builder.Capture(3, "main;OnKey;malloc");
  builder.Sample(6, "main;OnKey");
  builder.Capture(9, "main;OnKey;malloc");
  builder.Wait(0, 10, 11, "main;poll", CallKind::kPoll);
  builder.Sample(12, "main;OnKey");
  EXPECT_THAT(ToldOf(&builder, 14), ElementsAre("main 0-14", ".poll 0-2 exact", ".OnKey 2-10", "..malloc 3-3",
                                                "..malloc 9-9", ".poll 10-11 exact", ".OnKey 11-14"));
}

// The two come from different clocks.
TEST(Slices, OfALookJustOutsideOfItsDispatchAreInIt) {
  TraceBuilder builder;
  builder.trace.threads[0].dispatches = {{1, 2 * kMs, 12 * kMs, ""}, {2, 15 * kMs, 25 * kMs, ""}};
  auto& late = builder.Sample(12, "main;OnKey", 1);
  late.begin_ns = late.end_ns += kMs / 20;
  auto& idle = builder.Sample(15, "main;Poll");
  idle.begin_ns = idle.end_ns += kMs / 20;
  auto& early = builder.Sample(15, "main;OnKey", 2);
  early.begin_ns = early.end_ns += kMs / 10;
  EXPECT_THAT(ToldOf(&builder, 30), ElementsAre("main 2-12", ".OnKey 2-12", "main 12-15", ".Poll 12-15",
                                                "main 15-25", ".OnKey 15-25"));
}

TEST(Slices, OfAWaitAreExactAndHoldWhatWasSeenMeanwhile) {
  TraceBuilder builder;
  builder.Sample(0, "main;Work");
  builder.Wait(0, 3, 48, "main;Work;lock").object = 0xabc;
  builder.Sample(10, "main;Work;lock;futex").count = 3;
  builder.Sample(50, "main;Work");
  EXPECT_THAT(ToldOf(&builder, 52), ElementsAre("main 0-52", ".Work 0-52", "..lock 3-48 exact"));
  const Slice lock = Sampled(builder).slices[2];
  EXPECT_EQ(lock.call, CallKind::kMutex);
  EXPECT_EQ(lock.object, 0xabcu);
  EXPECT_EQ(lock.count, 4u);
}

TEST(Slices, OfTwoWaitsAreTwo) {
  TraceBuilder builder;
  builder.Wait(0, 0, 4, "main;lock");
  builder.Wait(0, 5, 9, "main;lock");
  EXPECT_THAT(ToldOf(&builder, 9), ElementsAre("main 0-9", ".lock 0-4 exact", ".lock 5-9 exact"));
}

// A thread's activity after a call in which it captured itself is known where the next sample shares it.
TEST(Slices, OfACallThatReturnedAtOnceArePoints) {
  TraceBuilder builder;
  builder.Capture(0, "main;Parse;malloc");
  builder.Capture(5, "main;Parse;malloc");
  builder.Capture(8, "main;Parse;Mark", CallKind::kUser);
  EXPECT_THAT(ToldOf(&builder, 10),
              ElementsAre("main 0-8", ".Parse 0-8", "..malloc 0-0", "..malloc 5-5", "..Mark 8-8"));
}

TEST(Slices, GetTheTotalsThatLieInThem) {
  TraceBuilder builder;
  builder.Capture(0, "main;A;malloc").totals = Totals{.cpu_ns = 100, .allocations = 7};
  builder.Capture(5, "main;B;malloc").totals = Totals{.cpu_ns = 110, .allocations = 9};
  builder.Sample(7, "main;C");
  builder.Capture(9, "main;B;malloc").totals = Totals{.cpu_ns = 150, .allocations = 9};
  const Track track = Sampled(builder);
  ASSERT_THAT(Told(builder.trace, track), ElementsAre("main 0-9", ".A 0-0", "..malloc 0-0", ".B 5-5",
                                                      "..malloc 5-5", ".C 7-9", ".B 9-9", "..malloc 9-9"));
  EXPECT_EQ(track.slices[0].used->cpu_ns, 50);
  EXPECT_EQ(track.slices[0].used->allocations, 2u);
  for (size_t i = 1; i < track.slices.size(); ++i) EXPECT_FALSE(track.slices[i].used.has_value()) << i;
}

TEST(Slices, TellFunctionsApartWithoutNames) {
  TraceBuilder builder;
  const auto add = [&](uint32_t module, uint64_t offset, uint64_t function_offset, const char* name) {
    NamedFrame& frame = builder.trace.frames.emplace_back();
    frame.module = module;
    frame.offset = offset;
    frame.function_offset = function_offset;
    frame.name = name;
  };
  add(0, 0x110, 0x100, "");
  add(0, 0x120, 0x100, "");
  add(0, 0x210, 0, "");
  add(0, 0x220, 0, "");
  add(kNoIndex, 0, 0, "zone");
  add(kNoIndex, 0, 0, "zone");
  add(0, 0x120, 0x100, "inlined");
  EXPECT_THAT(FunctionNumbers(builder.trace), ElementsAre(0, 0, 1, 2, 3, 3, 4));
}

TEST(Slices, IgnoreStacksThatAreNone) {
  TraceBuilder builder;
  builder.Sample(0, "main");
  builder.Sample(10, "main").stack = kNoIndex;
  builder.trace.nodes[0].parent = 5;
  EXPECT_THAT(ToldOf(&builder, 12), ElementsAre("main 0-12 gap 2"));
}

Track Instrumented(const TraceBuilder& builder) {
  return BuildInstrumentedTrack(builder.trace, 0, FunctionNumbers(builder.trace));
}

TEST(CallSlices, AreAsTheyWereCalled) {
  TraceBuilder builder;
  builder.Call(0, "main", true);
  builder.Call(1, "F", true);
  builder.Call(2, "F", true);
  builder.Call(3, "F", false);
  builder.Call(4, "F", false);
  builder.Call(9, "main", false);
  EXPECT_THAT(Told(builder.trace, Instrumented(builder)),
              ElementsAre("main 0-9 exact", ".F 1-4 exact", "..F 2-3 exact"));
}

TEST(CallSlices, DropAndCountEndsWhoseBeginWasForgotten) {
  TraceBuilder builder;
  builder.Call(0, "Gone", false);
  builder.Call(1, "F", true);
  builder.Call(2, "Gone", false);
  builder.Call(3, "F", false);
  const Track track = Instrumented(builder);
  EXPECT_THAT(Told(builder.trace, track), ElementsAre("F 1-3 exact"));
  EXPECT_EQ(track.orphan_end_count, 2u);
}

TEST(CallSlices, WithoutAnEndEndWithTheirCallerOrTheTrace) {
  TraceBuilder builder;
  builder.Call(0, "main", true);
  builder.Call(1, "F", true);
  builder.Call(2, "Jumped", true);
  builder.Call(5, "F", false);
  builder.Call(6, "G", true);
  builder.trace.end_ns = 9 * kMs;
  EXPECT_THAT(Told(builder.trace, Instrumented(builder)),
              ElementsAre("main 0-9 exact unfinished", ".F 1-5 exact", "..Jumped 2-5 exact unfinished",
                          ".G 6-9 exact unfinished"));
}

TEST(Tracks, AreOneForEachSourceOfAThread) {
  TraceBuilder builder;
  builder.AddThread("idle");
  builder.Sample(0, "main");
  builder.Call(1, "F", true);
  const std::vector<Track> tracks = BuildTracks(builder.trace);
  ASSERT_THAT(tracks, SizeIs(2));
  EXPECT_FALSE(tracks[0].is_instrumented);
  EXPECT_TRUE(tracks[1].is_instrumented);
  EXPECT_THAT(BuildTracks(Trace()), IsEmpty());
}

}  // namespace
}  // namespace lagwatch::trace
