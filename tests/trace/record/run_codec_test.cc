// SPDX-License-Identifier: Apache-2.0
#include "trace/record/run_codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::trace {
namespace {

void ExpectEqual(const RunRecord& run, const RunRecord& other) {
  EXPECT_EQ(run.begin_ns, other.begin_ns);
  EXPECT_EQ(run.end_ns, other.end_ns);
  EXPECT_EQ(run.tid, other.tid);
  EXPECT_EQ(run.count, other.count);
  EXPECT_EQ(run.stack, other.stack);
  EXPECT_EQ(run.dispatch, other.dispatch);
  EXPECT_EQ(run.kind, other.kind);
  EXPECT_EQ(run.call, other.call);
  EXPECT_EQ(run.is_for_all, other.is_for_all);
  EXPECT_EQ(run.is_complete, other.is_complete);
  EXPECT_EQ(run.is_running, other.is_running);
  EXPECT_EQ(run.has_totals, other.has_totals);
  EXPECT_EQ(run.object, other.object);
  EXPECT_EQ(run.totals.cpu_ns, other.totals.cpu_ns);
  EXPECT_EQ(run.totals.involuntary_switches, other.totals.involuntary_switches);
}

RunRecord RandomRun(std::mt19937_64* random) {
  auto number = [&](uint64_t limit) { return (*random)() >> ((*random)() % 64) & limit; };
  RunRecord run{};
  run.begin_ns = static_cast<int64_t>(number(INT64_MAX / 2));
  run.end_ns = run.begin_ns + static_cast<int64_t>(number(INT64_MAX / 2));
  run.tid = static_cast<int32_t>(number(INT32_MAX));
  run.count = static_cast<uint32_t>(number(UINT32_MAX));
  run.stack = static_cast<uint32_t>(number(UINT32_MAX));
  run.dispatch = static_cast<uint32_t>(number(UINT32_MAX));
  run.kind = static_cast<uint8_t>(number(3));
  run.call = static_cast<uint8_t>(number(15));
  run.is_for_all = number(1) != 0;
  run.is_complete = number(1) != 0;
  run.is_running = run.kind == 0 && number(1) != 0;
  run.has_totals = run.kind != 0 && number(1) != 0;
  run.object = number(UINT64_MAX);
  if (run.has_totals)
    run.totals = {static_cast<int64_t>(number(UINT64_MAX)), 1, 2, 3, 4, 5, number(UINT64_MAX)};
  return run;
}

TEST(RunCodec, GivesBackAnyRuns) {
  std::mt19937_64 random(7);
  std::vector<RunRecord> runs;
  std::vector<char> bytes;
  RunCodecState state{};
  for (int i = 0; i < 10'000; ++i) {
    runs.push_back(RandomRun(&random));
    char room[kMaxRunBytes];
    const size_t size = EncodeRun(runs.back(), &state, room);
    ASSERT_LE(size, kMaxRunBytes);
    bytes.insert(bytes.end(), room, room + size);
  }
  state = {};
  size_t at = 0;
  for (const RunRecord& run : runs) {
    RunRecord decoded;
    const size_t size = DecodeRun(bytes.data() + at, bytes.size() - at, &state, &decoded);
    ASSERT_NE(size, 0);
    at += size;
    ExpectEqual(decoded, run);
  }
  EXPECT_EQ(at, bytes.size());
}

TEST(RunCodec, AnUsualSampleTakesFewBytes) {
  RunCodecState state{1'000'000'000, 1000, 500, 3, {}};
  RunRecord run{};
  run.begin_ns = run.end_ns = 1'010'000'000;
  run.tid = 1000;
  run.count = 1;
  run.stack = 507;
  run.is_running = true;
  run.dispatch = 3;
  run.is_complete = true;
  char bytes[kMaxRunBytes];
  EXPECT_LE(EncodeRun(run, &state, bytes), 6);
}

TEST(RunCodec, GivesBackDispatchesAmongRuns) {
  const std::string long_tag(kMaxTagBytes + 5, 'x');
  std::vector<RunRecord> records;
  for (std::string_view tag : {"paint", "paint", "", "key", long_tag.c_str(), "key"}) {
    RunRecord dispatch{};
    dispatch.begin_ns = 1000 + static_cast<int64_t>(records.size()) * 100;
    dispatch.end_ns = dispatch.begin_ns + 70;
    dispatch.tid = 7;
    dispatch.dispatch = 40 + static_cast<uint32_t>(records.size());
    dispatch.is_complete = records.size() % 4 != 0;
    dispatch.tag = tag;
    records.push_back(dispatch);
    RunRecord run{};
    run.begin_ns = run.end_ns = dispatch.begin_ns + 20;
    run.tid = 7;
    run.count = 1;
    run.stack = 500;
    run.dispatch = dispatch.dispatch;
    records.push_back(run);
  }
  char bytes[1000];
  RunCodecState state{};
  size_t size = 0;
  for (const RunRecord& record : records) size += EncodeRun(record, &state, bytes + size);
  EXPECT_LE(size, 6 * 16 + 3 * 5 + kMaxTagBytes + 10);
  state = {};
  size_t at = 0;
  for (const RunRecord& record : records) {
    RunRecord decoded;
    const size_t used = DecodeRun(bytes + at, size - at, &state, &decoded);
    ASSERT_NE(used, 0);
    at += used;
    ExpectEqual(decoded, record);
    EXPECT_EQ(decoded.tag, record.tag.substr(0, kMaxTagBytes));
  }
}

TEST(RunCodec, RefusesWhatIsCutShort) {
  RunCodecState state{};
  RunRecord run{};
  run.begin_ns = 1;
  run.end_ns = std::numeric_limits<int32_t>::max();
  run.tid = 77'777;
  run.count = 300;
  run.stack = 70'000;
  run.kind = 2;
  run.has_totals = true;
  char bytes[kMaxRunBytes];
  const size_t size = EncodeRun(run, &state, bytes);
  for (size_t cut = 0; cut < size; ++cut) {
    RunCodecState other{};
    RunRecord decoded;
    EXPECT_EQ(DecodeRun(bytes, cut, &other, &decoded), 0);
  }
}

TEST(RunCodec, AnyBytesAreReadWithinTheirBounds) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<char> bytes(random() % 64);
    for (char& byte : bytes) byte = static_cast<char>(random());
    RunCodecState state{};
    RunRecord run;
    EXPECT_LE(DecodeRun(bytes.data(), bytes.size(), &state, &run), bytes.size());
  }
}

}  // namespace
}  // namespace lagwatch::trace
