// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/clock.h"
#include "collector/ingest/trace_limits.h"
#include "collector/ingest/trace_quota.h"
#include "tests/collector/http/gzip_text.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"
#include "trace/export/export.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using testing::MemoryCollector;
using testing::SampleReport;
using testing::TraceOf;

std::string BatchOfTraces(const std::vector<report::TraceRecord>& traces) {
  std::string batch = testing::EncodeBatch({SampleReport().Encode()});
  for (const report::TraceRecord& trace : traces) testing::AppendTrace(trace, &batch);
  return batch;
}

// The reason for a refusal; empty if it is accepted.
std::string Refusal(const report::TraceRecord& trace, const TraceLimits& limits = {}) {
  return CheckTrace(trace, limits).message();
}

TEST(TraceIngest, StoresATraceOnce) {
  MemoryCollector collector;
  const report::TraceRecord trace = TraceOf(base::CreateUuidV7(1));
  const std::string batch = BatchOfTraces({trace});
  EXPECT_EQ(collector.ingest.Submit(batch)->accepted, 2);
  EXPECT_EQ(collector.ingest.Submit(batch)->duplicates, 2);
  EXPECT_EQ(collector.store->FindTrace(trace.id)->value().trace, trace.trace);
}

TEST(TraceIngest, RefusesABadTraceAlone) {
  MemoryCollector collector;
  report::TraceRecord no_gzip = TraceOf({}), no_trace = TraceOf({}), cut = TraceOf({});
  no_gzip.trace = "no gzip";
  no_trace.trace = testing::GzipText("no trace");
  cut.trace.pop_back();
  const auto result = collector.ingest.Submit(BatchOfTraces({no_gzip, no_trace, cut, TraceOf({})}));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->accepted, 2);
  EXPECT_EQ(result->rejected, 3);
  EXPECT_THAT(result->records[1].why, HasSubstr("gzip"));
  EXPECT_THAT(result->records[2].why, HasSubstr("the trace"));
}

TEST(TraceIngest, RefusesWhatIsTooLarge) {
  const report::TraceRecord trace = TraceOf({});
  EXPECT_EQ(Refusal(trace), "");
  EXPECT_THAT(Refusal(trace, {.packed_bytes = 10}), HasSubstr("more than 10 bytes"));
  EXPECT_THAT(Refusal(trace, {.unpacked_bytes = 10}), HasSubstr("expands beyond"));
  report::TraceRecord bomb = trace;
  bomb.trace = testing::GzipText(std::string(15 << 20, '\0'));
  EXPECT_THAT(Refusal(bomb), HasSubstr("expands beyond"));
  report::TraceRecord texts = trace;
  texts.user = std::string(2000, 'u');
  EXPECT_THAT(Refusal(texts), HasSubstr("text of more than"));
}

TEST(TraceIngest, RefusesSmallTracesThatUnfoldIntoLargeOnes) {
  trace::Trace deep = testing::SampleTrace();
  for (size_t i = 0; i <= kMaxTraceDepth; ++i)
    deep.nodes.push_back({.parent = static_cast<uint32_t>(deep.nodes.size() - 1), .frame = 0});
  EXPECT_EQ(Refusal(TraceOf({}, deep)), "");  // no frames
  deep.threads[0].runs.back().stack = static_cast<uint32_t>(deep.nodes.size() - 1);
  EXPECT_THAT(Refusal(TraceOf({}, deep)), HasSubstr("too deep"));

  trace::Trace nested = testing::SampleTrace();
  for (size_t i = 0; i <= kMaxTraceDepth; ++i) nested.threads[0].calls.push_back({1'000'000, 0, true});
  EXPECT_THAT(Refusal(TraceOf({}, nested)), HasSubstr("too deep"));

  trace::Trace repeated = testing::SampleTrace();
  std::string& name = repeated.frames[0].name;
  for (int i = 0; name.size() < 100'000; ++i) name += "Function" + std::to_string(i);
  for (size_t i = 0; i < 900; ++i)
    repeated.nodes.push_back({.parent = static_cast<uint32_t>(repeated.nodes.size() - 1), .frame = 0});
  EXPECT_EQ(Refusal(TraceOf({}, repeated)), "");
  repeated.threads[0].runs.back().stack = static_cast<uint32_t>(repeated.nodes.size() - 1);
  EXPECT_THAT(Refusal(TraceOf({}, repeated)), HasSubstr("too many of them"));

  trace::Trace named = testing::SampleTrace();
  named.frames.front().name = std::string(1000, 'n');
  named.frames.resize(20'000, named.frames.front());
  EXPECT_THAT(Refusal(TraceOf({}, named)), HasSubstr("texts are too long"));

  trace::Trace many = testing::SampleTrace();
  many.nodes.resize(kMaxTraceElements, {.parent = trace::kNoIndex, .frame = 0});
  EXPECT_NE(Refusal(TraceOf({}, many)), "");
}

TEST(TraceIngest, RefusesTimesThatCannotBe) {
  trace::Trace odd = testing::SampleTrace();
  odd.threads[0].runs.back().end_ns = INT64_MAX;
  EXPECT_THAT(Refusal(TraceOf({}, odd)), HasSubstr("out of range"));

  trace::Trace far = testing::SampleTrace();
  far.wall_minus_mono_ns = INT64_MAX;
  EXPECT_THAT(Refusal(TraceOf({}, far)), HasSubstr("out of range"));
}

TEST(TraceIngest, TakesTheTimeThatItIs) {
  trace::Trace now = testing::SampleTrace();
  now.wall_minus_mono_ns = base::SystemClock().WallMs() * 1'000'000;
  EXPECT_EQ(Refusal(TraceOf({}, now)), "");
}

TEST(TraceIngest, EachProjectHasItsDaysQuota) {
  MemoryCollector collector;
  const report::TraceRecord first = TraceOf({});
  Ingest ingest(collector.store.get(), Clusterer::Create("").value(), nullptr, {}, {.traces_a_day = 2});
  EXPECT_EQ(ingest.Submit(BatchOfTraces({first}), {.key = "one"})->rejected, 0);
  // A stored trace costs nothing.
  EXPECT_EQ(ingest.Submit(BatchOfTraces({first}), {.key = "one"})->duplicates, 1);
  const auto result = ingest.Submit(BatchOfTraces({TraceOf({}), TraceOf({})}), {.key = "one"});
  EXPECT_EQ(result->accepted, 2);
  EXPECT_EQ(result->rejected, 1);
  EXPECT_THAT(result->records.back().why, HasSubstr("no more traces of this project today"));
  EXPECT_EQ(ingest.Submit(BatchOfTraces({TraceOf({})}), {.key = "other"})->rejected, 0);
}

TEST(TraceIngest, ABadTraceCountsInTheQuota) {
  MemoryCollector collector;
  Ingest ingest(collector.store.get(), Clusterer::Create("").value(), nullptr, {}, {.traces_a_day = 2});
  report::TraceRecord bad = TraceOf({});
  bad.trace = "no trace";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ingest.Submit(BatchOfTraces({bad}), {.key = "one"})->rejected, 1);
  const auto result = ingest.Submit(BatchOfTraces({TraceOf({})}), {.key = "one"});
  const std::string why = result.ok() ? result->records.back().why : result.status().message();
  EXPECT_THAT(why, HasSubstr("no more traces of this project today"));
}

TEST(TraceQuota, HasRoomForSoManyBytesADay) {
  TraceQuota quota({.bytes_a_day = 100});
  EXPECT_TRUE(quota.TryTake({.key = "one"}, 60, 0));
  EXPECT_FALSE(quota.TryTake({.key = "one"}, 60, 0));
  EXPECT_TRUE(quota.TryTake({.key = "other"}, 60, 0));
  quota.GiveBack({.key = "one"}, 60, 0);
  EXPECT_TRUE(quota.TryTake({.key = "one"}, 100, kMsPerDay - 1));
  EXPECT_TRUE(quota.TryTake({.key = "one"}, 100, kMsPerDay));
}

// An accepted trace can be shown, whatever it is.
TEST(TraceIngest, MutatedTracesAreRefusedOrExported) {
  const std::string whole = trace::EncodeTrace(testing::SampleTrace());
  std::mt19937 random(7);
  int shown = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    report::TraceRecord record = TraceOf({});
    record.trace = testing::GzipText(bytes);
    if (!Refusal(record).empty()) continue;
    const trace::Trace trace = OpenTrace(record.trace, 1 << 20).value();
    for (const trace::FormatInfo& format : trace::Formats()) (void)trace::Export(format.format, trace);
    ++shown;
  }
  EXPECT_GT(shown, 100);
}

}  // namespace
}  // namespace lagwatch::collector
