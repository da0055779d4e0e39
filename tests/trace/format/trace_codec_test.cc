// SPDX-License-Identifier: Apache-2.0
#include "trace/format/trace_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "tests/testing/temp_directory.h"

namespace lagwatch::trace {
namespace {

Trace SampleTrace() {
  Trace trace;
  trace.pid = 4711;
  trace.process_name = "editor";
  trace.begin_ns = 1'000'000;
  trace.end_ns = 9'000'000;
  trace.wall_minus_mono_ns = 1'700'000'000'000'000'000;
  trace.boot_minus_mono_ns = 77;
  trace.sample_interval_ns = 10'000'000;
  trace.modules = {{"/usr/bin/editor", std::string("\x01\x00\xff", 3), 0x5555'0000},
                   {"/lib/libc.so.6", "", 0}};
  trace.frames = {{{0, 0x110, 0x100}, "main", "main.cc", 12},
                  {{1, 0x90, 0}, "", "", 0},
                  {{kNoIndex, 0x7fff'0000'1234, 0}, "", "", 0}};
  trace.frames[0].id = 0xfedc'ba98'7654'3210;
  trace.nodes = {{kNoIndex, 0}, {0, 1}, {0, 2}, {kNoIndex, 2}};
  Thread main{4711, "editor", {}, {}, {}};
  Run sampled;
  sampled.begin_ns = 1'500'000;
  sampled.end_ns = 2'500'000;
  sampled.count = 3;
  sampled.stack = 1;
  sampled.dispatch = 5;
  sampled.is_running = true;
  Run waited = sampled;
  waited.is_running = false;
  waited.begin_ns = 900'000;  // before the trace's begin
  waited.end_ns = 8'000'000;
  waited.kind = RunKind::kWaited;
  waited.call = CallKind::kMutex;
  waited.object = 0xffff'ffff'ffff'fff0;
  waited.is_complete = false;
  waited.stack = kNoIndex;
  waited.totals = Totals{100, 2, 3, 4, 5, 6, 7};
  Run woke = waited;
  woke.kind = RunKind::kWoke;
  woke.is_for_all = true;
  woke.totals = Totals{90, 1, 1, 1, 1, 1, 1};
  main.runs = {waited, sampled, woke};
  main.calls = {{1'100'000, 0, true}, {1'200'000, 2, true}, {1'300'000, 2, false}};
  main.dispatches = {{5, 1'000'000, 3'000'000, "key"}, {6, 3'000'000, 3'000'000, ""}};
  trace.threads = {main, {4712, "", {}, {}, {}}};
  trace.losses = {{"blocks overwritten", 3, "--worker-mib"}};
  return trace;
}

void ExpectEqual(const Trace& trace, const Trace& other) {
  // The encoder is a function of all members, and the decoder refuses what it does not understand.
  EXPECT_EQ(EncodeTrace(trace), EncodeTrace(other));
}

TEST(TraceCodec, GivesBackATrace) {
  const Trace trace = SampleTrace();
  const auto decoded = DecodeTrace(EncodeTrace(trace));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  ExpectEqual(*decoded, trace);
  const auto& waited = decoded->threads[0].runs[0];
  EXPECT_EQ(waited.begin_ns, 900'000);
  EXPECT_EQ(waited.object, 0xffff'ffff'ffff'fff0);
  EXPECT_EQ(waited.stack, kNoIndex);
  EXPECT_FALSE(waited.is_complete);
  EXPECT_EQ(waited.totals, (Totals{100, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(waited.is_for_all);
  EXPECT_FALSE(waited.is_running);
  EXPECT_TRUE(decoded->threads[0].runs[1].is_running);
  EXPECT_TRUE(decoded->threads[0].runs[2].is_for_all);
  EXPECT_EQ(decoded->threads[0].runs[2].totals, (Totals{90, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(decoded->frames[0].name, "main");
  EXPECT_EQ(decoded->frames[0].id, 0xfedc'ba98'7654'3210);
  EXPECT_EQ(decoded->frames[2].module, kNoIndex);
  EXPECT_EQ(decoded->nodes[3].parent, kNoIndex);
  EXPECT_TRUE(decoded->threads[0].calls[0].is_enter);
  EXPECT_EQ(decoded->threads[0].dispatches[0].tag, "key");
}

TEST(TraceCodec, GivesBackAnEmptyTrace) {
  const auto decoded = DecodeTrace(EncodeTrace({}));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_TRUE(decoded->threads.empty());
}

TEST(TraceCodec, PackedIsGzip) {
  const Trace trace = SampleTrace();
  const std::string packed = PackTrace(trace);
  EXPECT_EQ(packed.substr(0, 2), "\x1f\x8b");
  const auto unpacked = UnpackTrace(packed);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status().message();
  ExpectEqual(*unpacked, trace);
}

TEST(TraceCodec, RefusesWhatIsCutShortOrTooLarge) {
  const std::string packed = PackTrace(SampleTrace());
  EXPECT_EQ(UnpackTrace(packed.substr(0, packed.size() - 1)).status().code(), base::StatusCode::kInvalid);
  EXPECT_EQ(UnpackTrace("not gzip").status().code(), base::StatusCode::kInvalid);
  EXPECT_EQ(UnpackTrace("").status().code(), base::StatusCode::kInvalid);
  EXPECT_EQ(UnpackTrace(packed, 16).status().code(), base::StatusCode::kTooLarge);
}

TEST(TraceCodec, DamagedBytesAreRefusedOrGiveATraceWhoseIndicesHold) {
  const std::string bytes = EncodeTrace(SampleTrace());
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (int change = 0; change < 3; ++change)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto decoded = DecodeTrace(damaged);
    if (!decoded.ok()) continue;
    for (const StackNode& node : decoded->nodes) ASSERT_LT(node.frame, decoded->frames.size());
    for (const Thread& thread : decoded->threads) {
      for (const auto& run : thread.runs) {
        ASSERT_TRUE(run.stack == kNoIndex || run.stack < decoded->nodes.size());
        ASSERT_LE(run.begin_ns, run.end_ns);
      }
    }
  }
}

// By the schema, and by a program that is not ours.
TEST(TraceCodec, ProtocKnowsEveryField) {
  const std::filesystem::path proto = LAGWATCH_TRACE_PROTO;
  const testing::ScopedTempDirectory directory;
  const std::string file = directory / "trace.bin";
  std::ofstream(file, std::ios::binary) << EncodeTrace(SampleTrace());
  const std::string command = "protoc --decode=lagwatch.Trace -I" + proto.parent_path().string() + " " +
                              proto.filename().string() + " < " + file;
  FILE* output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::string text;
  std::array<char, 4096> piece;
  while (size_t size = fread(piece.data(), 1, piece.size(), output)) text.append(piece.data(), size);
  ASSERT_EQ(pclose(output), 0);
  EXPECT_NE(text.find("process_name: \"editor\""), std::string::npos);
  EXPECT_NE(text.find("tag: "), std::string::npos);
  // A field that the schema does not know is identified by its number.
  std::istringstream lines(text);
  for (std::string field; lines >> std::ws && std::getline(lines, field);)
    EXPECT_EQ(std::isdigit(static_cast<unsigned char>(field[0])), 0) << field;
}

TEST(DecodeTrace, RefusesWhatIsOverItsLimits) {
  const std::string bytes = EncodeTrace(SampleTrace());
  EXPECT_TRUE(DecodeTrace(bytes, {.element_count = 1000, .text_bytes = 1000}).ok());
  EXPECT_NE(DecodeTrace(bytes, {.element_count = 5}).status().message().find("too many elements"),
            std::string::npos);
  EXPECT_NE(DecodeTrace(bytes, {.text_bytes = 5}).status().message().find("texts are too long"),
            std::string::npos);
}

}  // namespace
}  // namespace lagwatch::trace
