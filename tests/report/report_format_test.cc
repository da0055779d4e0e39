// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "report/format/usage_encoder.h"
#include "tests/report/report_testing.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::EncodeEnd;
using lagwatch::testing::EncodeFullReport;
using lagwatch::testing::FullReport;
using lagwatch::testing::FullRunEnd;
using lagwatch::testing::IdOf;

// A buffer of exactly the given size on the heap, so that the address sanitizer sees a byte too many.
struct ExactBuffer {
  explicit ExactBuffer(size_t size_bytes) : bytes(new char[size_bytes]), buffer(bytes.get(), size_bytes) {}
  std::unique_ptr<char[]> bytes;
  FixedBuffer buffer;
};

ReportHeader MinimalHeader() {
  ReportHeader header;
  header.id = IdOf("0123456789abcdef");
  return header;
}

TEST(ReportFormat, DecodingYieldsWhatWasEncoded) {
  auto report = DecodeReport(FullReport());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->id, IdOf("id-0123456789abc"));
  EXPECT_EQ(report->session_id, IdOf("session-01234567"));
  EXPECT_EQ(report->hang_id, IdOf("lag-0123456789ab"));
  EXPECT_EQ(report->ordinal, 4u);
  EXPECT_EQ(report->app + report->app_version + report->user, "editor2.3.1u-71");
  EXPECT_EQ(report->os + report->machine, "Linux 6.1x86_64");
  EXPECT_EQ(report->distribution, "Debian GNU/Linux 12");
  EXPECT_EQ(report->pid, 10u);
  EXPECT_EQ(report->tid, 11u);
  EXPECT_EQ(report->loop + report->tag, "uikey-press");
  EXPECT_EQ(report->kind, HangKind::kBusyLoop);
  EXPECT_EQ(report->level, HangLevel::kAnr);
  EXPECT_EQ(report->threshold_ms, 2000u);
  EXPECT_EQ(report->start_wall_ms, 1'700'000'000'000);
  EXPECT_EQ(report->elapsed_ns, 2'500'000'000);
  EXPECT_EQ(report->cpu_window_ns, 1'000'000'000);
  EXPECT_EQ(report->cpu_thread_ns, 900'000'000);
  EXPECT_EQ(report->cpu_process_ns, 1'900'000'000);
  EXPECT_EQ(report->threads_dropped, 7u);
}

TEST(ReportFormat, StacksKeepTheirFramesAndReferences) {
  auto report = DecodeReport(FullReport());
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->modules.size(), 2u);
  EXPECT_EQ(report->modules[1].path, "/lib/libc.so.6");
  EXPECT_EQ(report->modules[1].build_id, "build-two");
  EXPECT_EQ(report->modules[1].load_bias, 0x7f0000000000u);
  ASSERT_EQ(report->stacks.size(), 2u);
  const Stack& waiting = report->stacks[0];
  EXPECT_EQ(waiting.completeness, Completeness::kIncomplete);
  ASSERT_EQ(waiting.frames.size(), 3u);
  EXPECT_EQ(waiting.frames[0].module, 1u);
  EXPECT_EQ(waiting.frames[0].symbol_offset(), 0x1200u);
  EXPECT_EQ(waiting.frames[1].symbol_offset(), 0x42u);
  EXPECT_EQ(waiting.frames[2].module, kNoModule);
  EXPECT_EQ(waiting.frames[2].offset, 0xdeadu);
  EXPECT_EQ(waiting.gap_at, 2u);
  EXPECT_EQ(waiting.gap_frames, 9744u);
  ASSERT_EQ(report->samples.size(), 2u);
  EXPECT_EQ(report->samples[0].stack, 1u);
  EXPECT_EQ(report->samples[1].age_ns, 1'000);
  EXPECT_EQ(report->expensive_stack, 1u);
  ASSERT_EQ(report->threads.size(), 2u);
  EXPECT_EQ(report->threads[0].stack, 1u);
  EXPECT_EQ(report->threads[1].stack, kNoStack);
  EXPECT_EQ(report->threads[1].name + report->threads[1].state, "indexerD");
  EXPECT_EQ(report->threads[0].syscall_number, -1);
  EXPECT_EQ(report->threads[1].syscall_number, 0);
  EXPECT_EQ(report->threads[1].wait_channel, "io_schedule");
  ASSERT_EQ(report->symbols.size(), 1u);
  EXPECT_EQ(report->symbols[0].name, "futex_wait");
}

TEST(ReportFormat, WaitsKeepTheirLocksAndReferences) {
  auto report = DecodeReport(FullReport());
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->waits.size(), 2u);
  const Wait& wait = report->waits[0];
  EXPECT_EQ(wait.tid, 11u);
  EXPECT_EQ(wait.stack, 0u);
  EXPECT_EQ(wait.lock.address, 0x1000u);
  EXPECT_EQ(wait.lock.kind, LockKind::kMutex);
  EXPECT_EQ(wait.lock.waits_for, WaitsFor::kOwner);
  EXPECT_TRUE(wait.lock.has_timeout);
  EXPECT_EQ(wait.lock.owner_tid, 12);
  EXPECT_EQ(wait.owner_name, "indexer");
  EXPECT_EQ(wait.owner_stack, 1u);
  EXPECT_EQ(wait.owner_pid, 0u) << "of the same process";
  EXPECT_EQ(report->wait_outcome, WaitOutcome::kDeadlock);
  const Wait& across = report->waits[1];
  EXPECT_EQ(across.pid, 13u);
  EXPECT_EQ(across.owner_pid, 15u);
  EXPECT_EQ(across.owner_process, "viewer");
  EXPECT_EQ(across.owner_state, 'S');
  EXPECT_TRUE(across.is_owner_idle);
  EXPECT_EQ(across.owner_session_id, testing::kPeerSession);
  EXPECT_EQ(across.owner_stack, kNoStack);
}

TEST(ReportFormat, CircumstancesAreKept) {
  auto report = DecodeReport(FullReport());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->verdict, testing::kFullVerdict);
  EXPECT_EQ(report->discounted, testing::kFullDiscount);
  EXPECT_EQ(report->samples[0].use, (policies::ThreadUse{1, 2, 3, 4, 5}));
  ASSERT_EQ(report->history.size(), 1u);
  const PastDispatch& past = report->history[0];
  EXPECT_EQ(past.tag, "paint");
  EXPECT_EQ(past.age_ns + past.wall_ns * 100 + past.cpu_ns * 10'000 + past.queue_wait_ns * 1'000'000,
            34'333'231);
  ASSERT_EQ(report->facts.size(), 2u);
  EXPECT_EQ(report->facts[0].name, "rss_kib");
  EXPECT_EQ(report->facts[0].number, -41);
  EXPECT_EQ(report->facts[1].text, "editor");
}

TEST(ReportFormat, EqualStacksAreStoredOnce) {
  ExactBuffer exact(4096);
  ReportEncoder encoder(&exact.buffer);
  const Frame frames[] = {{kNoModule, 1, 0}, {kNoModule, 2, 0}};
  uint32_t first = encoder.AddStack(frames, Completeness::kComplete);
  size_t size_bytes = exact.buffer.size();
  EXPECT_EQ(encoder.AddStack(frames, Completeness::kComplete), first);
  EXPECT_EQ(exact.buffer.size(), size_bytes);
  EXPECT_NE(encoder.AddStack(frames, Completeness::kCut), first);
}

TEST(ReportFormat, ABufferOfAnySizeOverflowsWithoutHarm) {
  std::string full;
  {
    ExactBuffer exact(1 << 16);
    ReportEncoder encoder(&exact.buffer);
    EncodeFullReport(&encoder);
    full = exact.buffer.content();
  }
  constexpr size_t kSlackBytes = 16;
  constexpr size_t kLengthGuessBytes = 5;  // protozero's room for a nested length that it does not know yet
  for (size_t size_bytes = kSlackBytes + 1; size_bytes < full.size() + 2 * kSlackBytes; ++size_bytes) {
    ExactBuffer exact(size_bytes);
    ReportEncoder encoder(&exact.buffer);
    EncodeFullReport(&encoder);
    EXPECT_FALSE(encoder.ok() && size_bytes < full.size() + kSlackBytes) << size_bytes;
    EXPECT_TRUE(encoder.ok() || size_bytes < full.size() + kSlackBytes + kLengthGuessBytes) << size_bytes;
    EXPECT_TRUE(!encoder.ok() || exact.buffer.content() == full) << size_bytes;
  }
}

TEST(ReportFormat, RewindingForgetsWhatWasAddedSinceTheMark) {
  const Frame kept[] = {{kNoModule, 1, 0}};
  const Frame forgotten[] = {{kNoModule, 2, 0}};
  const Frame later[] = {{kNoModule, 3, 0}};
  auto encode = [&](bool with_detour, ExactBuffer* exact) {
    ReportEncoder encoder(&exact->buffer);
    encoder.SetHeader(MinimalHeader());
    encoder.AddStack(kept, Completeness::kComplete);
    if (with_detour) {
      ReportEncoder::Mark mark = encoder.mark();
      std::string long_name(exact->buffer.size() + 4096, 'x');
      encoder.AddStack(forgotten, Completeness::kComplete);
      encoder.AddModule(long_name, "", 0);
      EXPECT_FALSE(encoder.ok());
      encoder.RewindTo(mark);
      EXPECT_TRUE(encoder.ok());
    }
    EXPECT_EQ(encoder.AddModule("/opt/editor", "", 0), 0u);
    EXPECT_EQ(encoder.AddStack(later, Completeness::kComplete), 1u);
    return std::string(exact->buffer.content());
  };
  ExactBuffer straight(1024);
  ExactBuffer detour(1024);
  EXPECT_EQ(encode(true, &detour), encode(false, &straight));
}

TEST(ReportFormat, AHangEndNamesItsReport) {
  auto end = DecodeHangEnd(EncodeEnd(IdOf("0123456789abcdef"), 42));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->report_id, IdOf("0123456789abcdef"));
  EXPECT_EQ(end->duration_ns, 42);
  EXPECT_FALSE(DecodeHangEnd("").ok());
}

TEST(ReportFormat, ABatchSplitsIntoItsRecordsAndKeepsUnknownOnes) {
  std::string report = FullReport();
  std::string end = EncodeEnd(IdOf("0123456789abcdef"), 1);
  std::string batch;
  AppendToBatch({RecordType::kReport, report}, &batch);
  AppendToBatch({static_cast<RecordType>(77), "from a newer version"}, &batch);
  AppendToBatch({RecordType::kHangEnd, end}, &batch);
  auto records = SplitBatch(batch);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ((*records)[0].type, RecordType::kReport);
  EXPECT_EQ((*records)[0].payload, report);
  EXPECT_EQ((*records)[1].type, static_cast<RecordType>(77));
  EXPECT_EQ((*records)[1].payload, "from a newer version");
  EXPECT_EQ((*records)[2].type, RecordType::kHangEnd);
  EXPECT_EQ((*records)[2].payload, end);
}

TEST(ReportFormat, ARunEndIsReadBackAsItWasWritten) {
  RunEnd end = FullRunEnd();
  auto read = DecodeRunEnd(EncodeRunEnd(end));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->session_id, end.session_id);
  EXPECT_EQ(read->reason, policies::ExitReason::kCrash);
  EXPECT_EQ(read->signal, 11);
  EXPECT_EQ(read->report_id, end.report_id);
  EXPECT_EQ(read->hang_ns, end.hang_ns);
  EXPECT_EQ(read->loop, "ui");
  EXPECT_EQ(read->run_start_wall_ms, end.run_start_wall_ms);
  EXPECT_EQ(read->last_seen_wall_ms, end.last_seen_wall_ms);
  EXPECT_EQ(read->scene, "inbox");
  EXPECT_EQ(read->app, "editor");
  EXPECT_EQ(read->app_version, "2.3.1");
  EXPECT_EQ(read->user, "u-71");
}

TEST(ReportFormat, AFrameSliceIsReadBackAsItWasWritten) {
  auto read = DecodeFrameSlice(lagwatch::testing::FullFrameSlice());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->id, IdOf("id-0123456789abc"));
  EXPECT_EQ(read->session_id, IdOf("session-01234567"));
  EXPECT_EQ(read->app, "editor");
  EXPECT_EQ(read->app_version, "2.3.1");
  EXPECT_EQ(read->user, "u-71");
  EXPECT_EQ(read->loop, "ui");
  EXPECT_EQ(read->scene, "inbox");
  EXPECT_EQ(read->begin_wall_ms, 1'700'000'000'000);
  EXPECT_EQ(read->duration_ns, 9'500'000'000);
  EXPECT_EQ(read->refresh_interval_ns, 16'666'667);
  EXPECT_EQ(read->frames.frames, 15u);
  EXPECT_EQ(read->frames.dropped, 99u);
  EXPECT_EQ(read->frames.by_level, (std::array<uint64_t, policies::kFrameLevels>{1, 2, 3, 4, 5}));
  EXPECT_EQ(read->frames.by_stage_ns, (std::array<uint64_t, policies::kFrameStages>{10, 11, 12, 13, 14, 15}));
  EXPECT_FALSE(DecodeFrameSlice("").ok());
}

TEST(ReportFormat, AUsageIsReadBackAsItWasWritten) {
  Usage usage = lagwatch::testing::FullUsage();
  auto read = DecodeUsage(lagwatch::testing::EncodeUsage(usage));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->id, usage.id);
  EXPECT_EQ(read->session_id, usage.session_id);
  EXPECT_EQ(read->app, "editor");
  EXPECT_EQ(read->app_version, "2.3.1");
  EXPECT_EQ(read->user, "u-71");
  EXPECT_EQ(read->begin_wall_ms, usage.begin_wall_ms);
  EXPECT_EQ(read->end_wall_ms, usage.end_wall_ms);
  ASSERT_EQ(read->loops.size(), 1u);
  EXPECT_EQ(read->loops[0].loop, "ui");
  EXPECT_EQ(read->loops[0].usage, usage.loops[0].usage);
  ASSERT_EQ(read->slow.size(), 1u);
  EXPECT_EQ(read->slow[0].loop, "ui");
  EXPECT_EQ(read->slow[0].tag, "open");
  EXPECT_EQ(read->slow[0].dispatches, usage.slow[0].dispatches);
  ASSERT_EQ(read->suppressed.size(), 1u);
  EXPECT_EQ(read->suppressed[0].reason, policies::SuppressedReason::kUnchangedStack);
  EXPECT_EQ(read->suppressed[0].count, 12u);
  ASSERT_EQ(read->values.size(), 1u);
  EXPECT_EQ(read->values[0].key, "scene");
  EXPECT_EQ(read->values[0].value, "inbox");
  EXPECT_EQ(read->values[0].usage, usage.values[0].usage);
}

TEST(ReportFormat, AUsageHasAnIdAndNoNumberBelowZero) {
  EXPECT_FALSE(DecodeUsage("").ok());
  EXPECT_FALSE(DecodeUsage("usage").ok());
  Usage hostile = lagwatch::testing::FullUsage();
  hostile.suppressed = {{static_cast<policies::SuppressedReason>(99), 1}};
  std::string bytes = lagwatch::testing::EncodeUsage(hostile);
  // A loop whose watched_ns is UINT64_MAX.
  bytes += std::string("\x42\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13);
  auto read = DecodeUsage(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->loops.size(), 2u);
  EXPECT_EQ(read->loops[1].usage.watched_ns, INT64_MAX);
  EXPECT_EQ(read->suppressed[0].reason, policies::SuppressedReason::kUnknown);
}

TEST(ReportFormat, AHostileUsageIsRefusedOrHasNoNumberBelowZero) {
  const std::string good = lagwatch::testing::EncodeUsage(lagwatch::testing::FullUsage());
  std::mt19937 random(20240607);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (size_t flips = 1 + random() % 4; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    auto usage = DecodeUsage(bytes);
    (usage.ok() ? accepted : refused)++;
    if (!usage.ok()) continue;
    for (const LoopUsage& loop : usage->loops) {
      EXPECT_GE(loop.usage.watched_ns, 0);
      EXPECT_GE(loop.usage.hang_ns, 0);
    }
    for (const SlowTag& slow : usage->slow) EXPECT_GE(slow.dispatches.total_ns, 0);
    for (const Suppressed& suppressed : usage->suppressed)
      EXPECT_LT(static_cast<size_t>(suppressed.reason), policies::kSuppressedReasons);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(ReportFormat, AUsageThatDoesNotFitSaysSo) {
  char bytes[200];
  FixedBuffer buffer(bytes, sizeof bytes);
  UsageEncoder encoder({.id = IdOf("id-0123456789abc")}, &buffer);
  EXPECT_TRUE(encoder.ok());
  for (int i = 0; i < 100; ++i) encoder.AddLoop("a loop", lagwatch::testing::FullUsage().loops[0].usage);
  EXPECT_FALSE(encoder.ok());
}

TEST(ReportFormat, ARunEndNamesItsSession) {
  EXPECT_FALSE(DecodeRunEnd("").ok());
  EXPECT_FALSE(DecodeRunEnd(EncodeRunEnd({.scene = "inbox"})).ok());
}

TEST(ReportFormat, ANewerReasonOfARunsEndIsUnknown) {
  RunEnd end{.session_id = IdOf("session-01234567"), .reason = static_cast<policies::ExitReason>(99)};
  EXPECT_EQ(DecodeRunEnd(EncodeRunEnd(end))->reason, policies::ExitReason::kUnknown);
}

bool IsInRange(uint32_t index, size_t count) { return index == kNoStack || index < count; }

void ExpectReferencesInRange(const Report& report) {
  for (const Stack& stack : report.stacks) {
    for (const Frame& frame : stack.frames) EXPECT_TRUE(IsInRange(frame.module, report.modules.size()));
  }
  for (const Sample& sample : report.samples) EXPECT_LT(sample.stack, report.stacks.size());
  for (const Thread& thread : report.threads) EXPECT_TRUE(IsInRange(thread.stack, report.stacks.size()));
  for (const Wait& wait : report.waits) {
    EXPECT_TRUE(IsInRange(wait.stack, report.stacks.size()));
    EXPECT_TRUE(IsInRange(wait.owner_stack, report.stacks.size()));
  }
  EXPECT_LT(report.expensive_stack, report.stacks.size());
}

TEST(ReportFormat, HostileBytesAreRefusedOrHarmless) {
  const std::string good = FullReport();
  std::mt19937 random(20240607);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (size_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    auto report = DecodeReport(bytes);
    (report.ok() ? accepted : refused)++;
    if (report.ok()) {
      ExpectReferencesInRange(*report);
    } else {
      EXPECT_EQ(report.status().code(), base::StatusCode::kInvalid);
    }
    (void)SplitBatch(bytes);
    (void)DecodeHangEnd(bytes);
    (void)DecodeRunEnd(bytes);
    (void)DecodeFrameSlice(bytes);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST(ReportFormat, ReferencesOutOfRangeAreRefused) {
  auto refuse = [](auto add) {
    ExactBuffer exact(1024);
    ReportEncoder encoder(&exact.buffer);
    encoder.SetHeader(MinimalHeader());
    encoder.AddStack({}, Completeness::kNone);
    EXPECT_TRUE(DecodeReport(exact.buffer.content()).ok());
    add(&encoder);
    EXPECT_FALSE(DecodeReport(exact.buffer.content()).ok());
  };
  refuse([](ReportEncoder* encoder) { encoder->AddSample({.stack = 1}); });
  refuse([](ReportEncoder* encoder) { encoder->SetExpensiveStack(1); });
  refuse([](ReportEncoder* encoder) { encoder->AddThread({.tid = 1, .name = "t", .stack = 1}); });
  refuse([](ReportEncoder* encoder) { encoder->AddWait({.tid = 1, .stack = 1}); });
  refuse([](ReportEncoder* encoder) { encoder->AddWait({.tid = 1, .owner_stack = 1}); });
  refuse(
      [](ReportEncoder* encoder) { encoder->AddWait({.tid = 1, .lock = {.waits_for = WaitsFor::kOwner}}); });
  refuse([](ReportEncoder* encoder) { encoder->SetWaitOutcome(WaitOutcome::kDeadlock); });
  refuse([](ReportEncoder* encoder) {
    const Frame frame[] = {{0, 1, 1}};
    encoder->AddStack(frame, Completeness::kComplete);
  });
}

}  // namespace
}  // namespace lagwatch::report
