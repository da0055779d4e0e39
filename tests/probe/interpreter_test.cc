// SPDX-License-Identifier: Apache-2.0
#include "probe/run/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <thread>

#include "probe/run/budget.h"
#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

uint64_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// The value of an expression, as a sum over one hit.
int64_t ValueOfExpression(const std::string& expression, const std::vector<uint64_t>& arguments = {},
                          const std::string& parameters = "") {
  ArmedScript armed("f" + parameters + " { sum(" + expression + ") }");
  EXPECT_EQ(armed.Run(arguments), HitEnd::kDone) << expression;
  return static_cast<int64_t>(armed.Total());
}

TEST(Interpreter, ArithmeticIsThatOfC) {
  EXPECT_EQ(ValueOfExpression("1 + 2 * 3 - 4"), 3);
  EXPECT_EQ(ValueOfExpression("-7 / 2"), -3);
  EXPECT_EQ(ValueOfExpression("-7 % 3"), -1);
  EXPECT_EQ(ValueOfExpression("(0xff & 0x0f | 0x30) ^ 1"), 0x3e);
  EXPECT_EQ(ValueOfExpression("1 << 40 >> 38"), 4);
  EXPECT_EQ(ValueOfExpression("~0"), -1);
  EXPECT_EQ(ValueOfExpression("5000000000"), 5'000'000'000);
  EXPECT_EQ(ValueOfExpression("3 < 4 && !(1 == 2)"), 1);
  EXPECT_EQ(ValueOfExpression("arg0 - 1", {0}), -1);
  EXPECT_EQ(ValueOfExpression("int8_t(arg0)", {0x1ff}), -1);
  EXPECT_EQ(ValueOfExpression("uint16_t(arg0)", {0x12345}), 0x2345);
  EXPECT_EQ(ValueOfExpression("a", {0xffffffff}, "(int a)"), -1);
  EXPECT_EQ(ValueOfExpression("a > 0", {0xffffffff}, "(unsigned a)"), 1);
  EXPECT_EQ(ValueOfExpression("a > 5", {std::numeric_limits<uint64_t>::max()}, "(size_t a)"), 1);
  EXPECT_EQ(ValueOfExpression("a > 5", {std::numeric_limits<uint64_t>::max()}, "(long a)"), 0);
}

TEST(Interpreter, NothingOfArithmeticTraps) {
  ArmedScript division("f { sum(arg0 / arg1); sum(arg0 % arg1) }");
  EXPECT_EQ(division.Run({1, 0}), HitEnd::kFaulted);
  EXPECT_EQ(division.state().Stats().faulted, 1u);
  const auto least = static_cast<uint64_t>(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(division.Run({least, static_cast<uint64_t>(-1)}), HitEnd::kDone);
  EXPECT_EQ(division.Total(0), least);
  EXPECT_EQ(ValueOfExpression("1 << arg0", {1'000'000}), 1 << (1'000'000 & 63));
  ArmedScript to_int("f(double d) { histogram(d * 1.0) }");
  Hit hit;
  const double floats[8] = {std::numeric_limits<double>::quiet_NaN()};
  hit.float_arguments = floats;
  EXPECT_EQ(to_int.Run(hit), HitEnd::kDone);
  EXPECT_EQ(to_int.Total(0, 1), 1u);  // as 0
}

TEST(Interpreter, ASumEndsWhereItsNumbersDo) {
  ArmedScript armed("budget 10% 10000000/s f { sum(arg0); avg(arg0) }");
  constexpr uint64_t kQuarter = uint64_t{1} << 62;
  for (const uint64_t added : {kQuarter, kQuarter, uint64_t{5}}) armed.Run({added});
  EXPECT_EQ(armed.Total(0), kQuarter + 5);
  EXPECT_EQ(armed.Total(1), kQuarter + 5);
  EXPECT_EQ(armed.Total(1, 1), 2u);
  EXPECT_EQ(armed.state().Stats().dropped_keys, 2u);
}

TEST(Interpreter, FloatsAreSummedAsFloats) {
  ArmedScript armed("f(double a, float b) { sum(a * 2); max(a); min(a); avg(a) }");
  EXPECT_EQ(armed.Run(), HitEnd::kDone);
  EXPECT_EQ(std::bit_cast<double>(armed.Total(0)), 1.0);
  ArmedScript single("f(float a) { sum(a) }");
  double word = 0;
  const float value = 0.25f;
  std::memcpy(&word, &value, sizeof value);
  Hit hit;
  const double floats[8] = {word};
  hit.float_arguments = floats;
  EXPECT_EQ(single.Run(hit), HitEnd::kDone);
  EXPECT_EQ(std::bit_cast<double>(single.Total(0)), 0.25);
}

struct Uri {
  const char* text;
  long length;
};
struct RequestLike {
  int id;
  char name[16];
  Uri uri;
  RequestLike* next;
  short codes[4];
};
constexpr const char* kRequestStruct =
    "struct uri { char* text; long length; }\n"
    "struct request { int id; char name[16]; struct uri uri; struct request* next; short codes[4]; }\n";

TEST(Interpreter, MembersAreReadAlongAPath) {
  RequestLike second{.id = 7, .name = "second", .uri = {"/b", 2}, .next = nullptr, .codes = {1, -2, 3, -4}};
  RequestLike first{.id = -5, .name = "first", .uri = {"/a/long/path", 12}, .next = &second, .codes = {}};
  const std::string head = std::string(kRequestStruct) + "f(struct request* r, int i) { sum(";
  const auto sum = [&](const std::string& path, uint64_t index = 0) {
    ArmedScript armed(head + path + ") }");
    EXPECT_EQ(armed.Run({AddressOf(&first), index}), HitEnd::kDone) << path;
    return static_cast<int64_t>(armed.Total());
  };
  EXPECT_EQ(sum("r->id"), -5);
  EXPECT_EQ(sum("r->uri.length"), 12);
  EXPECT_EQ(sum("r->next->uri.length"), 2);
  EXPECT_EQ(sum("r->next->codes[1]"), -2);
  EXPECT_EQ(sum("r->next->codes[i]", 3), -4);
  EXPECT_EQ(sum("r.id"), -5);
  EXPECT_EQ(sum("(*r).id"), -5);
  EXPECT_EQ(sum("r->name == \"first\""), 1);
  EXPECT_EQ(sum("r->uri.text ~ \"/a/*\" and r->next->name != \"first\""), 1);
}

TEST(Interpreter, AReadThatFailsEndsTheHit) {
  ArmedScript armed(std::string(kRequestStruct) + "f(struct request* r) { sum(r->next->id) }");
  EXPECT_EQ(armed.Run({8}), HitEnd::kFaulted);
  RequestLike request{};
  EXPECT_EQ(armed.Run({AddressOf(&request)}), HitEnd::kFaulted);  // its next is null
  EXPECT_EQ(armed.state().Stats().faulted, 2u);
  EXPECT_EQ(armed.Total(), 0u);
}

TEST(Interpreter, TextsAreReadWithinTheirBounds) {
  ArmedScript armed("open(const char* path) if path ~ \"/etc/*\" or path == \"x\" { count by str(path, 8) }");
  const auto run = [&](const char* path) { EXPECT_EQ(armed.Run({AddressOf(path)}), HitEnd::kDone); };
  run("/etc/passwd");
  run("/etc/pam.d");
  run("/usr/etc/passwd");
  run("x");
  run("xy");
  run(nullptr);
  run(reinterpret_cast<const char*>(16));
  EXPECT_EQ(armed.Total(), 3u);
}

TEST(Interpreter, PatternsMatchAsGlobsDo) {
  const auto matches = [](const char* text, const char* pattern) {
    ArmedScript armed("f(char* a) { sum(a ~ \"" + std::string(pattern) + "\") }");
    EXPECT_EQ(armed.Run({AddressOf(text)}), HitEnd::kDone);
    return armed.Total() == 1;
  };
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("", "*"));
  EXPECT_FALSE(matches("", "?"));
  EXPECT_TRUE(matches("abc", "a?c"));
  EXPECT_TRUE(matches("abcabc", "*bc"));
  EXPECT_FALSE(matches("abcab", "*bc"));
  EXPECT_TRUE(matches("mississippi", "m*iss*i*pi"));
  EXPECT_FALSE(matches("mississippi", "m*iss*is*ss*"));
  EXPECT_FALSE(matches("a", "ab"));
}

TEST(Interpreter, AggregatesOfManyKeysAreExact) {
  ArmedScript armed(
      "budget 10% 10000000/s f { count by arg0; sum(arg1) by arg0, arg2; min(arg1); max(arg1); avg(arg1); "
      "histogram(arg1); histogram(arg1, -10, 10, 5) }");
  for (int64_t i = -20; i < 20; ++i) {
    armed.Run({static_cast<uint64_t>(i & 3), static_cast<uint64_t>(i), 1});
  }
  EXPECT_EQ(armed.Total(0), 40u);
  EXPECT_EQ(static_cast<int64_t>(armed.Total(1)), -20);
  const auto ordered = [](int64_t value) { return static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63; };
  EXPECT_EQ(armed.Total(2), ~ordered(-20));
  EXPECT_EQ(armed.Total(3), ordered(19));
  EXPECT_EQ(static_cast<int64_t>(armed.Total(4)), -20);
  EXPECT_EQ(armed.Total(4, 1), 40u);
  EXPECT_EQ(armed.Total(5, 0), 20u);  // below 0
  EXPECT_EQ(armed.Total(5, 1), 1u);   // 0
  EXPECT_EQ(armed.Total(5, 2), 1u);   // 1
  EXPECT_EQ(armed.Total(5, 3), 2u);   // 2 and 3
  EXPECT_EQ(armed.Total(5, 6), 4u);   // 16 to 19
  EXPECT_EQ(armed.Total(6, 0), 10u);
  EXPECT_EQ(armed.Total(6, 1), 5u);
  EXPECT_EQ(armed.Total(6, 5), 10u);
}

TEST(Interpreter, KeysWithoutACellAreCounted) {
  ArmedScript armed("budget 10% 10000000/s f { count by arg0 keys 16 }");
  for (uint64_t i = 0; i < 1'000; ++i) armed.RunByAThread({i});
  const ProbeStats stats = armed.state().Stats();
  EXPECT_GT(stats.dropped_keys, 800u);
  EXPECT_EQ(armed.Total() + stats.dropped_keys, 1'000u);
}

TEST(Interpreter, ThreadsLoseNoCount) {
  ArmedScript armed(
      "budget 10% 10000000/s f { count; count by arg0; sum(arg0) by stack; avg(arg0) by arg0, str(arg1) }");
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kHits = 5'000;
  const char* const texts[] = {"one", "two", "three"};
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < kHits; ++i) {
        uint64_t ints[6] = {i % 7, AddressOf(texts[i % 3])};
        Hit hit;
        hit.int_arguments = ints;
        hit.tid = static_cast<uint32_t>(thread % 2);  // two threads of one slot and shard
        armed.Run(hit);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ProbeStats stats = armed.state().Stats();
  const uint64_t run = kThreads * kHits - stats.skipped;  // with a slow machine the budget leaves hits out
  EXPECT_GT(run, 0u);
  if (stats.skipped == 0) {
    EXPECT_EQ(armed.Total(0), run);
    EXPECT_EQ(armed.Total(1), run);
    EXPECT_EQ(armed.Total(3, 1) + stats.dropped_keys + stats.dropped_stacks, run);
  }
}

TEST(Interpreter, ASampleStandsForTheOthers) {
  ArmedScript armed("budget 10% 10000000/s f sample 1/8 { count; sum(2) }");
  for (int i = 0; i < 40'000; ++i) armed.RunByAThread();
  EXPECT_EQ(armed.Total(0) % 8, 0u);
  EXPECT_NEAR(static_cast<double>(armed.Total(0)), 40'000, 4'000);
  EXPECT_EQ(armed.Total(1), 2 * armed.Total(0));
}

TEST(Interpreter, LevelsAreRaisedWhileItRuns) {
  ArmedScript armed("level 1 f level 2 { count }");
  armed.Run();
  armed.state().SetLevel(2);
  armed.Run();
  armed.state().SetLevel(1);
  armed.Run();
  EXPECT_EQ(armed.Total(), 1u);
}

// Also where the budget thins the hits out.
TEST(Interpreter, ALimitIsABoundOfWhatIsCounted) {
  ArmedScript armed("f limit 5/s { count }");
  Hit hit;
  for (uint64_t ns = 1; ns < 3'000'000'000; ns += 1'000'000) {
    hit.now_ticks = ns;
    armed.block().threads[0].state.store(BudgetState{.shift = 3}.ToNumber());
    armed.Run(hit);
  }
  EXPECT_GE(armed.Total(), 10U);
  EXPECT_LE(armed.Total(), 20U);
}

TEST(Interpreter, LimitsAndAdaptiveSamplesHoldTheirRates) {
  ArmedScript limited("budget 10% 10000000/s f limit 10/s { count }");
  ArmedScript adaptive("budget 10% 10000000/s f sample adaptive 700/s { count }");
  Hit hit;
  uint64_t passed_before = 0;
  for (uint64_t ns = 1; ns < 5'000'000'000; ns += 50'000) {  // 20,000 hits a second, by the hit's own clock
    hit.now_ticks = ns;
    hit.tid = static_cast<uint32_t>(ns / 50'000 % kThreadSlots);  // no thread is over its budget
    limited.Run(hit);
    adaptive.Run(hit);
    if (ns < 4'000'000'000) passed_before = adaptive.Total();
  }
  EXPECT_GE(limited.Total(), 45u);
  EXPECT_LE(limited.Total(), 60u);
  // The weights make up for the samples: one second's hits.
  EXPECT_NEAR(static_cast<double>(adaptive.Total() - passed_before), 20'000, 3'000);
}

TEST(Interpreter, RecordsAreTakenWholeAndInOrder) {
  ArmedScript armed("output 100000/s f(char* a) { print(\"at\", tid, a) }");
  Hit hit;
  for (uint32_t i = 0; i < 2'000; ++i) {
    const std::string text = "text " + std::to_string(i);
    uint64_t ints[6] = {AddressOf(text.c_str())};
    hit.int_arguments = ints;
    hit.tid = i;
    armed.Run(hit);
  }
  std::string bytes;
  EXPECT_EQ(armed.state().TakeRecords(10, &bytes), 10u);
  EXPECT_EQ(armed.state().TakeRecords(100'000, &bytes), 1'014u);
  EXPECT_EQ(armed.state().TakeRecords(100'000, &bytes), 0u);
  EXPECT_EQ(armed.state().Stats().dropped_records, 2'000u - 1'024u);
  armed.Run({AddressOf("again")});
  EXPECT_EQ(armed.state().TakeRecords(100'000, &bytes), 1u);
  const size_t record_bytes = bytes.size() / 1'025;
  uint64_t tid = 0;
  std::memcpy(&tid, &bytes[500 * record_bytes + 16], 8);
  EXPECT_EQ(tid, 500u);
  EXPECT_EQ(bytes.substr(500 * record_bytes + 26, 8), "text 500");
}

TEST(Interpreter, RequestsWaitForTheBackgroundThread) {
  ArmedScript armed("on hang of * { arm slow for 30s; dump }");
  EXPECT_TRUE(armed.state().TakeRequests().empty());
  armed.Run();
  armed.Run();
  EXPECT_EQ(armed.state().TakeRequests(), (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(armed.state().TakeRequests().empty());
  EXPECT_EQ(armed.program().requests[0].script, "slow");
}

TEST(Interpreter, AMechanismWithoutArgumentsIsAFault) {
  ArmedScript armed("f { sum(arg0) }");
  EXPECT_EQ(armed.Run(Hit{}), HitEnd::kFaulted);
}

TEST(Interpreter, ValuesComeFromTheirMembers) {
  ArmedScript armed("lock { sum(waited + held); sum(address); sum(cpu_time) }");
  const HitDetails details{.address = 64, .waited_ns = 5, .held_ns = 7};
  Hit hit;
  hit.details = &details;
  armed.Run(hit);
  EXPECT_EQ(armed.Total(0), 12u);
  EXPECT_EQ(armed.Total(1), 64u);
  EXPECT_EQ(armed.Total(2), 123'000'000u);
}

}  // namespace
}  // namespace lagwatch::probe
