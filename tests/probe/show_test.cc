// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/show/formats.h"
#include "probe/show/value_text.h"
#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string NameAddress(uint64_t address) { return "f" + std::to_string(address); }

// Hits of a script, and what its console shows of them.
class ConsoleOf {
 public:
  explicit ConsoleOf(std::string_view script) : armed_(script) {}

  ConsoleOf& Run(std::vector<uint64_t> arguments, uint32_t tid = 3) {
    arguments.resize(6);
    Hit hit;
    hit.int_arguments = arguments.data();
    hit.tid = tid;
    hit.caller = 16;
    hit.now_ticks = 2'500'000'000;
    armed_.Run(hit);
    return *this;
  }
  const Aggregate& aggregate(size_t index = 0) const { return armed_.program().aggregates[index]; }
  AggregateResult Result(size_t index = 0) {
    auto results = ReadSnapshot(armed_.program(), armed_.state().Snapshot());
    EXPECT_TRUE(results.ok()) << results.status().message();
    return (*results)[index];
  }
  std::string Text(size_t index = 0) { return AsText(aggregate(index), Result(index), NameAddress); }
  std::string Json() { return AsJsonLines(aggregate(), Result(), NameAddress); }
  std::vector<Record> Records() {
    std::string bytes;
    armed_.state().TakeRecords(100, &bytes);
    const auto stacks = ReadStacks(armed_.program(), armed_.state().Snapshot());
    return *ReadRecords(armed_.program(), *stacks, bytes);
  }
  ArmedScript& armed() { return armed_; }

 private:
  ArmedScript armed_;
};

uint64_t AddressOfText(const char* text) { return reinterpret_cast<uintptr_t>(text); }

TEST(Show, ATableHasTheLargestFirst) {
  ConsoleOf shown("open(const char* path) { count by path, tid }");
  const char* const path = "/etc/passwd";
  shown.Run({AddressOfText(path)}).Run({AddressOfText(path)}).Run({AddressOfText("/tmp")}).Run({8});
  shown.Run({AddressOfText(path)}, 7);  // of another shard
  EXPECT_EQ(shown.Text(),
            "count by path, tid\n"
            "  2  /etc/passwd  3\n"
            "  1  (unreadable)  3\n"
            "  1  /etc/passwd  7\n"
            "  1  /tmp  3\n");
  EXPECT_EQ(shown.Json(),
            R"({"aggregate":"count by path, tid","key":{"path":"/etc/passwd","tid":3},"count":2})"
            "\n"
            R"({"aggregate":"count by path, tid","key":{"path":null,"tid":3},"count":1})"
            "\n"
            R"({"aggregate":"count by path, tid","key":{"path":"/etc/passwd","tid":7},"count":1})"
            "\n"
            R"({"aggregate":"count by path, tid","key":{"path":"/tmp","tid":3},"count":1})"
            "\n");
}

TEST(Show, ShardsAreAddedUpAndTheTopRemains) {
  ConsoleOf shown("f { count by arg0 top 1 }");
  for (uint32_t tid = 0; tid < 8; ++tid) shown.Run({5}, tid);
  shown.Run({6});
  EXPECT_EQ(shown.Text(), "count by arg0\n  8  5\n");
}

TEST(Show, NumbersOfAllKinds) {
  ConsoleOf shown("f(long a) { sum(a); min(a); max(a); avg(a); min(a / 2.0) }");
  EXPECT_EQ(shown.Text(1), "min(a)\n  (nothing)\n");
  for (const int64_t value : {5, -3, 10})
    shown.Run({static_cast<uint64_t>(value)}, static_cast<uint32_t>(value + 3));
  EXPECT_EQ(shown.Text(0), "sum(a)\n  12\n");
  EXPECT_EQ(shown.Text(1), "min(a)\n  -3\n");
  EXPECT_EQ(shown.Text(2), "max(a)\n  10\n");
  EXPECT_EQ(shown.Text(3), "avg(a)\n  4\n");
  EXPECT_EQ(shown.Text(4), "min(a / 2.0)\n  -1.5\n");
}

TEST(Show, HistogramsHaveTheirBuckets) {
  ConsoleOf shown("f(long a) { histogram(a); histogram(a, 0, 20, 10) by tid }");
  for (const int64_t value : {-1, 0, 1, 5, 6, 25}) shown.Run({static_cast<uint64_t>(value)});
  const std::string text = shown.Text();
  EXPECT_THAT(text, HasSubstr("(below, 0)"));
  EXPECT_THAT(text, HasSubstr("[4, 8)           2 |****************************************|"));
  EXPECT_THAT(text, HasSubstr("[16, 32)           1 |********************                    |"));
  EXPECT_THAT(shown.Text(1), HasSubstr("[20, above)           1"));
  EXPECT_THAT(shown.Json(),
              HasSubstr(R"("count":6,"buckets":[{"from":null,"count":1},{"from":0,"count":1})"));
  const std::string prometheus = AsPrometheus(shown.aggregate(), shown.Result(), NameAddress);
  EXPECT_THAT(prometheus, StartsWith("# TYPE lagwatch_probe_histogram_a histogram\n"
                                     "lagwatch_probe_histogram_a_bucket{le=\"-1\"} 1\n"
                                     "lagwatch_probe_histogram_a_bucket{le=\"0\"} 2\n"
                                     "lagwatch_probe_histogram_a_bucket{le=\"1\"} 3\n"
                                     "lagwatch_probe_histogram_a_bucket{le=\"7\"} 5\n"));
  EXPECT_THAT(prometheus, HasSubstr("lagwatch_probe_histogram_a_bucket{le=\"+Inf\"} 6\n"
                                    "lagwatch_probe_histogram_a_count 6\n"));
}

TEST(Show, StacksFold) {
  ConsoleOf shown("f { count by stack(3) }");
  shown.Run({}, 1).Run({}, 1).Run({}, 2);  // as deep as their numbers
  EXPECT_EQ(AsFoldedStacks(shown.aggregate(), shown.Result(), NameAddress),
            "f8193;f4097 2\nf12290;f8194;f4098 1\n");
  EXPECT_EQ(shown.Text(),
            "count by stack(3)\n  2\n    f4097\n    f8193\n  1\n    f4098\n    f8194\n    f12290\n");
}

TEST(Show, RecordsAreLinesAndJson) {
  ConsoleOf shown("f(char* a, unsigned b) { print(\"got\", a, hex(b), caller, a == \"x\", 3ms, stack(1)) }");
  shown.Run({AddressOfText("caf\xc3\xa9 \xff\n\"x\""), 255}, 1);
  const std::vector<Record> records = shown.Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(AsText(shown.armed().program(), records[0], NameAddress),
            "2.5  1  got  caf\xc3\xa9 \\xff\\x0a\"x\"  0xff  f16  0  3ms\n    f4097\n");
  EXPECT_EQ(AsJsonLine(shown.armed().program(), records[0], NameAddress),
            "{\"time_ns\":2500000000,\"tid\":1,\"values\":{\"a\":\"caf\xc3\xa9 "
            "\\ufffd\\u000a\\\"x\\\"\",\"hex(b)\":\"0xff\","
            "\"caller\":\"f16\",\"a == \\\"x\\\"\":0,\"3ms\":3000000,\"stack(1)\":[\"f4097\"]}}\n");
}

TEST(Show, MetricsHavePlainNames) {
  ConsoleOf shown("f(char* a) { opens: count by a, caller }");
  shown.Run({AddressOfText("/etc/a \"b\"")});
  EXPECT_EQ(AsStatsd(shown.aggregate(), shown.Result(), NameAddress), "lagwatch.opens.etc_a_b.f16:1|g\n");
  EXPECT_EQ(
      AsPrometheus(shown.aggregate(), shown.Result(), NameAddress),
      "# TYPE lagwatch_probe_opens gauge\nlagwatch_probe_opens{a=\"/etc/a \\\"b\\\"\",caller=\"f16\"} 1\n");
}

// Bytes that are no UTF-8, or that act on a terminal: a scraper refuses the whole file for one of them.
TEST(Show, TextsArePlainUtf8AndDiffer) {
  ConsoleOf shown("f(char* a) { opens: count by a }");
  for (const char* key : {"\xff\xfe", "\x80\x9b", "\xc2\x9b", "\xe2\x80\xae", "\x7f", "\xe2\x82\xac"})
    shown.Run({AddressOfText(key)});
  const std::string text = AsPrometheus(shown.aggregate(), shown.Result(), NameAddress);
  for (const char* label : {"\\\\xff\\\\xfe", "\\\\x80\\\\x9b", "\\\\xc2\\\\x9b", "\\\\xe2\\\\x80\\\\xae",
                            "\\\\x7f", "\xe2\x82\xac"})
    EXPECT_THAT(text, HasSubstr("{a=\"" + std::string(label) + "\"} 1\n"));
  EXPECT_THAT(shown.Text(), HasSubstr("  1  \\xe2\\x80\\xae\n"));
}

TEST(Show, SaysAtLeastInAllFormats) {
  ConsoleOf shown("f { opens: count }");
  shown.Run({});
  AggregateResult result = shown.Result();
  result.is_at_least = true;
  const Aggregate& opens = shown.aggregate();
  EXPECT_THAT(AsText(opens, result, NameAddress), StartsWith("opens, at least\n"));
  EXPECT_EQ(AsJsonLines(opens, result, NameAddress),
            "{\"aggregate\":\"opens\",\"key\":{},\"count\":1,\"is_at_least\":true}\n");
  EXPECT_EQ(AsStatsd(opens, result, NameAddress), "lagwatch.opens:1|g\nlagwatch.opens_is_at_least:1|g\n");
  EXPECT_EQ(AsPrometheus(opens, result, NameAddress),
            "# TYPE lagwatch_probe_opens gauge\nlagwatch_probe_opens 1\n"
            "# TYPE lagwatch_probe_opens_is_at_least gauge\nlagwatch_probe_opens_is_at_least 1\n");
}

TEST(Show, DurationsHaveUnits) {
  EXPECT_EQ(DurationText(999), "999ns");
  EXPECT_EQ(DurationText(1'250), "1.25us");
  EXPECT_EQ(DurationText(-2'000'000), "-2ms");
  EXPECT_EQ(DurationText(90'000'000'000), "90s");
  EXPECT_EQ(DurationText(5'400'000'000'000), "5400s");
}

TEST(Show, ForeignResultsAreRefused) {
  ConsoleOf shown("f { count by arg0; print(arg0) }");
  shown.Run({1});
  const std::string snapshot = shown.armed().state().Snapshot();
  const Program& program = shown.armed().program();
  for (size_t size = 0; size < snapshot.size(); ++size) {
    EXPECT_FALSE(ReadSnapshot(program, std::string_view(snapshot).substr(0, size)).ok());
  }
  std::string many = snapshot;
  many[6] = 1;  // 2^48 cells
  EXPECT_FALSE(ReadSnapshot(program, many).ok());
  EXPECT_FALSE(ReadRecords(program, {}, "short").ok());
  EXPECT_FALSE(ReadRecords(program, {}, std::string(24, '\xff')).ok());
}

}  // namespace
}  // namespace lagwatch::probe
