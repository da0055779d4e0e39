// SPDX-License-Identifier: Apache-2.0
#include "probe/verify/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

using ::testing::HasSubstr;
using Code = OperationCode;

constexpr Position kHere{.line = 3, .column = 14};

// A program of one probe in a function, with one of each declaration.
Program Whole(std::vector<Operation> operations, PlaceKind kind = PlaceKind::kEntry) {
  Program program;
  program.int_constants = {1};
  program.float_constants = {1.5};
  program.texts = {"abc"};
  program.counters = 1;
  program.aggregates = {{.name = "count"},
                        {.name = "by",
                         .kind = AggregateKind::kSum,
                         .keys = {{.name = "a"}, {.name = "t", .shown = Shown::kText, .width = 8}},
                         .cells = 8}};
  program.prints = {
      {.fields = {
           {.name = "x", .shown = Shown::kLiteral}, {.name = "a"}, {.name = "s", .shown = Shown::kStack}}}};
  program.requests = {{}};
  Probe probe{.place = {.kind = kind, .name = "f"},
              .position = kHere,
              .operations = std::move(operations),
              .positions = {}};
  probe.positions.assign(probe.operations.size(), kHere);
  if (kind == PlaceKind::kTimer) probe.place = {.kind = kind, .period_ns = kMinTimerNs};
  program.probes = {probe};
  return program;
}

std::string RefusalOf(Program program) {
  const Result<VerifiedProgram> verified = Verify(std::move(program));
  return verified.ok() ? "" : verified.status().message();
}

struct BadProgram {
  std::vector<Operation> operations;
  const char* reason;
  PlaceKind kind = PlaceKind::kEntry;
};

TEST(Verifier, BadProgramsAreRefusedWithTheOperationsPosition) {
  const BadProgram kBad[] = {
      BadProgram{{}, "has 0"},
      BadProgram{{{.code = Code::kSetNumber}}, "operation 0 (SetNumber) is the last one"},
      BadProgram{{{.code = Code::kJump, .number = 0}, {}}, "jumps back to operation 0: there are no loops"},
      BadProgram{{{}, {}}, "operation 1 (End) is never reached"},
      BadProgram{{{.code = Code::kJump, .number = 2}, {}, {}}, "operation 1 (End) is never reached"},
      BadProgram{{{.code = Code::kJump, .number = 9}, {}}, "jumps to operation 9, behind the end"},
      BadProgram{{{.code = Code::kJump, .number = -1}, {}}, "jumps back"},
      BadProgram{{{.code = Code::kJumpIfEqualTo, .to = 0}, {}}, "reads register 0, which is not written"},
      BadProgram{{{.code = Code::kSetNumber}, {.code = Code::kJumpIfEqualTo, .to = 1}, {}},
                 "jumps back to operation 1"},
      BadProgram{{{.code = Code::kAdd, .to = 1}, {}}, "reads register 0, which is not written on every way"},
      // Written on one way only.
      BadProgram{{{.code = Code::kSetNumber},
                  {.code = Code::kJumpIfZero, .a = 0, .number = 3},
                  {.code = Code::kSetNumber, .to = 1},
                  {.code = Code::kAdd, .to = 2, .a = 0, .b = 1},
                  {}},
                 "operation 3 (Add) reads register 1, which is not written on every way"},
      // Of another type on each way.
      BadProgram{{{.code = Code::kSetNumber},
                  {.code = Code::kJumpIfZero, .a = 0, .number = 3},
                  {.code = Code::kSetText, .to = 0},
                  {.code = Code::kCopy, .to = 2, .a = 0},
                  {}},
                 "operation 3 (Copy) reads register 0, which is not written on every way"},
      BadProgram{{{.code = Code::kSetFloat}, {.code = Code::kAdd}, {}},
                 "as a number, but it is a floating-point number"},
      BadProgram{{{.code = Code::kSetNumber, .to = 18}, {}}, "uses register 18; there are 18"},
      BadProgram{{{.code = Code::kSetNumber, .a = 1}, {}}, "has an operand that it does not take"},
      BadProgram{{{.code = Code::kEnd, .number = 1}}, "has a number that it does not take"},
      BadProgram{{{.code = Code::kSetInt, .number = 1}, {}}, "names constant 1; there are 1"},
      BadProgram{{{.code = Code::kSetFloat, .number = -1}, {}}, "names constant -1"},
      BadProgram{{{.code = Code::kSetText, .number = 1}, {}}, "names text 1; there are 1"},
      BadProgram{{{.code = Code::kReadArgument, .number = 6}, {}}, "it may be 0 to 5"},
      BadProgram{{{.code = Code::kReadArgument}, {}},
                 "reads an argument, which this kind of place has not",
                 PlaceKind::kTimer},
      BadProgram{
          {{.code = Code::kReadStackArgument}, {}}, "on the stack, which this kind", PlaceKind::kReturn},
      BadProgram{{{.code = Code::kReadReturned}, {}},
                 "reads the returned value, which this kind of place has not"},
      BadProgram{{{.code = Code::kReadValue, .number = 99}, {}}, "names value 99"},
      BadProgram{{{.code = Code::kReadValue, .number = static_cast<int>(HitValue::kDuration)}, {}},
                 "reads duration, which"},
      BadProgram{{{.code = Code::kReadText, .number = static_cast<int>(HitValue::kThread)}, {}},
                 "reads tid as another type"},
      BadProgram{{{.code = Code::kSetNumber}, {.code = Code::kLoad, .b = 3}, {}}, "reads 3 bytes"},
      BadProgram{{{.code = Code::kSetNumber}, {.code = Code::kLoadFloat, .b = 1}, {}}, "reads 1 bytes"},
      BadProgram{{{.code = Code::kSample, .number = 0}, {}}, "it may be 1 to"},
      BadProgram{{{.code = Code::kLimit, .to = 1, .number = 5}, {}}, "uses a counter that does not exist"},
      BadProgram{{{.code = Code::kCaptureStack, .number = 65}, {}}, "it may be 1 to 64"},
      BadProgram{{{.code = Code::kAggregate, .number = 2}, {}}, "names aggregate 2; there are 2"},
      BadProgram{{{.code = Code::kAggregate, .b = 1}, {}}, "names a value, but only counts"},
      BadProgram{{{.code = Code::kAggregate, .a = 1}, {}}, "names a register for nothing"},
      BadProgram{{{.code = Code::kSetNumber}, {.code = Code::kAggregate, .number = 1}, {}},
                 "reads register 1"},
      BadProgram{{{.code = Code::kSetNumber, .to = 17}, {.code = Code::kAggregate, .a = 17, .number = 1}, {}},
                 "register 18; there are"},
      BadProgram{{{.code = Code::kPrint, .number = 1}, {}}, "names record 1"},
      BadProgram{
          {{.code = Code::kSetNumber}, {.code = Code::kSetNumber, .to = 1}, {.code = Code::kPrint}, {}},
          "as a stack, but it is a number"},
      BadProgram{{{.code = Code::kAsk, .number = 1}, {}}, "names request 1"},
      BadProgram{{{.code = static_cast<Code>(200)}, {}}, "does not exist"}};
  for (const BadProgram& bad : kBad) {
    const std::string refusal = RefusalOf(Whole(bad.operations, bad.kind));
    EXPECT_THAT(refusal, HasSubstr("3:14: "));
    EXPECT_THAT(refusal, HasSubstr(bad.reason));
  }
}

TEST(Verifier, TheWorstWayIsItsCost) {
  // Two ways: a cheap one, and one with a stack.
  Program program = Whole({{.code = Code::kSetNumber},
                           {.code = Code::kJumpIfZero, .number = 3},
                           {.code = Code::kCaptureStack, .to = 1, .number = 10},
                           {}});
  const Result<VerifiedProgram> verified = Verify(program);
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  const VerifiedProbe& probe = verified->probes()[0];
  EXPECT_EQ(probe.most_operations(), 4u);
  EXPECT_GT(probe.cost_ns(), 10u * 20);
  EXPECT_EQ(probe.needs(), kNeedsStack);
}

TEST(Verifier, AHitThatTakesTooLongIsRefused) {
  const std::string pattern(200, '*');
  std::string script = "f(char* a) if a ~ \"" + pattern + "\"";
  for (int i = 0; i < 3; ++i) script += " or a ~ \"" + pattern + std::to_string(i) + "\"";
  EXPECT_THAT(probe::RefusalOf(script + " { count }"), HasSubstr("makes a hit take up to"));
}

TEST(Verifier, DeclarationsHaveBounds) {
  const auto refusal_with = [](const std::function<void(Program*)>& change) {
    Program program = Whole({{}});
    change(&program);
    return RefusalOf(std::move(program));
  };
  EXPECT_EQ(refusal_with([](Program*) {}), "");
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].cells = 3; }), HasSubstr("power of 2"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].cells = 0; }), HasSubstr("power of 2"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].shards = 128; }), HasSubstr("power of 2"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[0].cells = 2; }), HasSubstr("without a key"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].name = "count"; }), HasSubstr("two aggregates"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].keys[1].width = 250; }),
              HasSubstr("the most is 240"));
  EXPECT_THAT(refusal_with([](Program* p) {
                p->aggregates[1].keys.assign(3, {.name = "t", .shown = Shown::kText, .width = 100});
              }),
              HasSubstr("the most is 256"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].keys[0].shown = Shown::kLiteral; }),
              HasSubstr("it is no key"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[0].buckets = 5; }),
              HasSubstr("no linear histogram"));
  EXPECT_THAT(refusal_with([](Program* p) {
                p->aggregates[0] = {.name = "h",
                                    .kind = AggregateKind::kLinearHistogram,
                                    .lowest = 1,
                                    .step = INT64_MAX,
                                    .buckets = 2};
              }),
              HasSubstr("beyond 2^63"));
  EXPECT_THAT(refusal_with([](Program* p) {
                p->prints[0].fields.assign(12, {.name = "t", .shown = Shown::kText, .width = 100});
              }),
              HasSubstr("the most is 1024"));
  EXPECT_THAT(refusal_with([](Program* p) { p->requests[0].duration_ns = 5; }), HasSubstr("up to an hour"));
  EXPECT_THAT(refusal_with([](Program* p) { p->budget.share_ppm = 200'000; }), HasSubstr("10 %"));
  EXPECT_THAT(refusal_with([](Program* p) { p->budget.hits_per_second = 0; }), HasSubstr("hits a second"));
  EXPECT_THAT(refusal_with([](Program* p) { p->records = 3; }), HasSubstr("power of 2"));
  EXPECT_THAT(refusal_with([](Program* p) { p->stacks = 1 << 20; }), HasSubstr("power of 2"));
  EXPECT_THAT(refusal_with([](Program* p) { p->aggregates[1].cells = 65'536, p->aggregates[1].shards = 64; }),
              HasSubstr("MiB of the program's memory"));
  EXPECT_THAT(refusal_with([](Program* p) { p->probes.clear(); }), HasSubstr("1 to 64 probes"));
  EXPECT_THAT(refusal_with([](Program* p) { p->probes[0].place.name.clear(); }),
              HasSubstr("3:14: the place has no name"));
  EXPECT_THAT(refusal_with([](Program* p) { p->probes[0].place.period_ns = 1; }),
              HasSubstr("a timer has a period"));
  EXPECT_THAT(refusal_with([](Program* p) { p->probes[0].positions.clear(); }), HasSubstr("3:14: "));
}

TEST(Program, IsTheSameAfterItsBytes) {
  for (const char* script :
       {"dictFind @return if duration > 1ms { print(\"slow\", duration, stack) }",
        "budget 2% level 3 struct u { char* p; double d; }; a!b*(u* u) in x.c limit 5/s sample 1/9 { "
        "sum(u->d) by u->p top 3 }",
        "timer 2s { n: count } event e { print(number) } on hang of m { arm s for 3s; trace for 1s }",
        "f { histogram(arg0, -5, 5000000000, 100000000) by arg1, hex(arg2) } java +A::b @error { count by "
        "type }"}) {
    const Result<Program> program = CompileScript(script, nullptr);
    ASSERT_TRUE(program.ok()) << program.status().message();
    const std::string bytes = Serialize(*program);
    const Result<Program> parsed = ParseProgram(bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, *program);
    EXPECT_EQ(Serialize(*parsed), bytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(ParseProgram(std::string_view(bytes).substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(ParseProgram(bytes + '\0').ok());
    std::string other_version = bytes;
    other_version[4] ^= 1;
    EXPECT_THAT(ParseProgram(other_version).status().message(), HasSubstr("of another version"));
  }
}

}  // namespace
}  // namespace lagwatch::probe
