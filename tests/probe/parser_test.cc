// SPDX-License-Identifier: Apache-2.0
#include "probe/language/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

using ::testing::HasSubstr;

ScriptTree Parsed(std::string_view script) {
  Result<ScriptTree> tree = ParseScript(script);
  EXPECT_TRUE(tree.ok()) << script << ": " << tree.status().message();
  return tree.ok() ? std::move(*tree) : ScriptTree{};
}

Place PlaceOf(std::string_view script) {
  const ScriptTree tree = Parsed(script);
  return tree.probes.empty() ? Place{} : tree.probes[0].place;
}

TEST(Parser, AnOneLinerHasItsParts) {
  const ScriptTree tree = Parsed("dictFind @return if duration > 1ms { print(duration, stack) }");
  ASSERT_EQ(tree.probes.size(), 1u);
  const ProbeTree& probe = tree.probes[0];
  EXPECT_EQ(probe.place.name, "dictFind");
  EXPECT_EQ(probe.place.kind, PlaceKind::kReturn);
  ASSERT_NE(probe.condition, nullptr);
  EXPECT_EQ(probe.condition->source, "duration > 1ms");
  EXPECT_EQ(probe.condition->parts[1]->number, 1'000'000u);
  ASSERT_EQ(probe.actions.size(), 1u);
  EXPECT_EQ(probe.actions[0].arguments[1]->source, "stack");
}

TEST(Parser, FunctionsHaveModulesPatternsAndSourceFiles) {
  const Place place = PlaceOf("libc!malloc*(size_t size) @entry sample 1/100 { histogram(size) by caller }");
  EXPECT_EQ(place.module, "libc");
  EXPECT_EQ(place.name, "malloc*");
  EXPECT_EQ(place.pattern, PatternKind::kGlob);
  const Place quoted = PlaceOf("libx.so!\"Foo::bar(int, char const*)\" { count }");
  EXPECT_EQ(quoted.name, "Foo::bar(int, char const*)");
  EXPECT_EQ(quoted.pattern, PatternKind::kQuoted);
  EXPECT_EQ(quoted.module, "libx.so");
  const Place regex = PlaceOf(R"(/^dict(Find|Add)\/$/ { count })");
  EXPECT_EQ(regex.name, R"(^dict(Find|Add)\/$)");
  EXPECT_EQ(regex.pattern, PatternKind::kRegex);
  EXPECT_EQ(PlaceOf("dict* in src/dict.c @error { count }").source_file, "src/dict.c");
  EXPECT_EQ(PlaceOf("std::vector<int,A<int>>::push_back { count }").name,
            "std::vector<int,A<int>>::push_back");
  EXPECT_EQ(PlaceOf("Foo::~Foo @duration { count }").kind, PlaceKind::kDuration);
}

TEST(Parser, TheOtherPlacesHaveTheirWords) {
  EXPECT_EQ(PlaceOf("timer 1s { print(tid) }").period_ns, 1'000'000'000u);
  EXPECT_EQ(PlaceOf("event refresh { count }").name, "refresh");
  EXPECT_EQ(PlaceOf("exit { count }").kind, PlaceKind::kExit);
  EXPECT_EQ(PlaceOf("call libc.so.6!getaddrinfo(const char* node) { count by node }").kind, PlaceKind::kCall);
  EXPECT_EQ(PlaceOf("throw std::runtime_error { count by type }").name, "std::runtime_error");
  EXPECT_EQ(PlaceOf("throw { count by type }").name, "");
  EXPECT_EQ(PlaceOf("throw if type ~ \"std::*\" { count by type }").name, "");
  EXPECT_EQ(PlaceOf("alloc { sum(bytes) by caller }").kind, PlaceKind::kAlloc);
  EXPECT_EQ(PlaceOf("lock { histogram(held) by address }").kind, PlaceKind::kLock);
  EXPECT_EQ(PlaceOf("io { sum(bytes) by fd }").kind, PlaceKind::kIo);
  EXPECT_EQ(PlaceOf("dispatch main* { count by tag }").name, "main*");
  EXPECT_EQ(PlaceOf("usdt libstdcxx:throw { count by arg0 }").kind, PlaceKind::kUsdt);
  const Place java = PlaceOf("java +java.util.Map::put* @return { count }");
  EXPECT_TRUE(java.is_java);
  EXPECT_EQ(java.name, "+java.util.Map::put*");
  EXPECT_EQ(java.kind, PlaceKind::kReturn);
  EXPECT_EQ(PlaceOf("java @org.junit.Test::* { count }").name, "@org.junit.Test::*");
}

TEST(Parser, PlacesInsideOfMethodsMayHaveANumberOrAGlob) {
  const Place call = PlaceOf("java com.shop.Cart::* @call java.util.*::<init> limit 5/s { count by callee }");
  EXPECT_EQ(call.kind, PlaceKind::kInnerCall);
  EXPECT_EQ(call.name, "com.shop.Cart::*");
  EXPECT_EQ(call.target, "java.util.*::<init>");
  EXPECT_EQ(PlaceOf("java C::m @call if duration > 1ms { print(callee) }").target, "");
  EXPECT_EQ(PlaceOf("java C::m @line 42 { count }").line, 42u);
  EXPECT_EQ(PlaceOf("java C::m @line { count by line }").line, 0u);
  EXPECT_EQ(PlaceOf("java C::m @alloc int[]{ count }").target, "int[]");
  EXPECT_EQ(PlaceOf("java C::m @lock { histogram(held) by type }").kind, PlaceKind::kMonitor);
  EXPECT_EQ(PlaceOf("java C::m @set total { print(value) }").kind, PlaceKind::kFieldWrite);
}

TEST(Parser, AHangArmsAScript) {
  const ScriptTree tree = Parsed("on hang of main* { arm slow-calls for 30s; dump; trace for 5s }");
  EXPECT_EQ(tree.probes[0].place.kind, PlaceKind::kHang);
  EXPECT_EQ(tree.probes[0].place.name, "main*");
  ASSERT_EQ(tree.probes[0].actions.size(), 3u);
  EXPECT_EQ(tree.probes[0].actions[0].name, "slow-calls");
  EXPECT_EQ(tree.probes[0].actions[0].duration_ns, 30'000'000'000u);
}

TEST(Parser, AFunctionMayHaveTheNameOfAPlaceOrASetting) {
  EXPECT_EQ(PlaceOf("exit(int status) { count by status }").name, "exit");
  EXPECT_EQ(PlaceOf("lock @return { count }").name, "lock");
  EXPECT_EQ(PlaceOf("libc!exit { count }").name, "exit");
  EXPECT_EQ(PlaceOf("io.c!read { count }").module, "io.c");
  EXPECT_EQ(PlaceOf("budget { count }").name, "budget");
}

TEST(Parser, SettingsAndStructs) {
  const ScriptTree tree = Parsed(
      "budget 0.5% 20000/s\noutput 50/s level 2 # the level to begin with\n"
      "struct uri { char* ptr; long len; };\n"
      "handle(struct uri* uri) { count by uri->ptr top 10 keys 200 }");
  EXPECT_EQ(tree.budget_ppm, 5'000u);
  EXPECT_EQ(tree.budget_hits_per_second, 20'000u);
  EXPECT_EQ(tree.output_per_second, 50u);
  EXPECT_EQ(tree.level, 2u);
  ASSERT_EQ(tree.structs.size(), 1u);
  EXPECT_EQ(tree.structs[0].members[1].name, "len");
  EXPECT_EQ(tree.probes[0].actions[0].top, 10u);
  EXPECT_EQ(tree.probes[0].actions[0].keys, 200u);
}

TEST(Parser, OperatorsBindAsInC) {
  const ScriptTree tree = Parsed("f { print(1 + 2 * 3 == 7 && not arg0 | 1 << 2) }");
  const Expression& whole = *tree.probes[0].actions[0].arguments[0];
  EXPECT_EQ(whole.text, "&&");
  EXPECT_EQ(whole.parts[0]->text, "==");
  EXPECT_EQ(whole.parts[0]->parts[0]->parts[1]->text, "*");
  EXPECT_EQ(whole.parts[1]->text, "|");
  EXPECT_EQ(whole.parts[1]->parts[1]->text, "<<");
}

struct BadScript {
  const char* script;
  const char* message;  // a part of it, from the position on
};

TEST(Parser, BadScriptsAreRefusedWithPositionAndReason) {
  const BadScript kBad[] = {
      BadScript{"", "1:1: the script has no probe"},
      BadScript{"f", "1:2: expected @KIND"},
      BadScript{"f {", "expected an action, found the end"},
      BadScript{"f { cuont }", "1:5: unknown action \"cuont\": did you mean count?"},
      BadScript{"f { count count }", "1:11: expected ; or }"},
      BadScript{"f @entri { count }", "1:3: unknown kind of place \"@entri\": did you mean entry?"},
      BadScript{"f\n  if duratoin > 1ms { count }", "2:6: unknown value \"duratoin\""},
      BadScript{"f @return if duratoin > 1ms { count }",
                "1:14: unknown value \"duratoin\": did you mean duration?"},
      BadScript{"f { print(path) }", "the parameters are unknown: declare them, as in f(const char* path)"},
      BadScript{"f { print(duration) }", "1:11: \"duration\" is known only at @return, @error"},
      BadScript{"timer 1ms { count }", "1:7: a period is 10000000 to"},
      BadScript{"timer 5 { count }", "1:7: expected a period, as in 10ms"},
      BadScript{"timer 1s @entry { count }", "1:10: only functions have @entry"},
      BadScript{"f @line 3 { count }",
                "1:3: only methods of Java have @line, as in java CLASS::METHOD @line"},
      BadScript{"java C::m @line 0 { count }", "1:17: the line's number is 1 to 65535"},
      BadScript{
          "java C::m @lock C { count }",
          "1:17: expected @KIND, sample, limit, level, in, if or what to do, as in { count }, after the "
          "place, found \"C\""},
      BadScript{"f sample 2/100 { count }", "1, as in sample 1/100 is 1 to 1"},
      BadScript{"f sample 1/10 sample 1/20 { count }", "1:22: this is there twice"},
      BadScript{"f if 3furlongs { count }", "1:6: unknown unit"},
      BadScript{"f { print(\"x) }", "1:11: the text does not end"},
      BadScript{"f { print(99999999999999999999) }", "1:11: this number is none of 64 bits"},
      BadScript{"usdt foo { count }", "1:6: a note is named PROVIDER:NAME"},
      BadScript{"java Foo { count }", "1:6: a Java method is named CLASS::METHOD"},
      BadScript{"on hang main { count }", "1:9: expected of"},
      BadScript{"budget 50% f { count }", "1:8: the budget is at most 10 %"},
      BadScript{"f(foo x) { print(x) }", "1:3: unknown type \"foo\""},
      BadScript{"struct A { A a; } f { count }", "1:12: unknown type \"A\""},
      BadScript{"f(struct A* a) { print(a->b) }", "1:27: A is unknown: declare it"},
      BadScript{"struct A { int size; } f(A* a) { print(a->sise) }",
                "1:43: A has no member \"sise\": did you mean size?"},
      BadScript{"f(int a) { print(a->b) }", "1:18: \"a\" is no pointer"},
      BadScript{"f(int a) { count by a == \"x\" }", "1:21: \"a\" is no text"},
      BadScript{"f(char* a) if a < \"x\" { count }", "1:17: a text is compared by"},
      BadScript{"f { count by arg0 / 0 }", "1:21: a division by 0"},
      BadScript{"f if arg0 % 0 { count }", "1:13: a division by 0"},
      BadScript{"f { sum(stack) }", "1:9: \"stack\" is no number"},
      BadScript{"f(double d) { count by d }", "1:24: a key is a whole number"},
      BadScript{"f { histogram(arg0, 0, 100, 0) }", "1:5: histogram(VALUE, LOWEST, HIGHEST, STEP)"},
      BadScript{"f { x: count by arg0; x: count by arg1 }", "1:26: \"x\" is already the name"},
      BadScript{"f { let x = 1; let x = 2 }", "1:16: there is already a variable"},
      BadScript{"f { arm slow }", "1:14: expected for"},
      BadScript{"f { print(foo(1)) }", "1:11: unknown function \"foo\""},
      BadScript{"f { print(arg6) }", "1:11: the last such argument is arg5"},
      BadScript{"f(int a, int b, int c, int d, int e, int f, int g) @return { print(g) }",
                "1:68: this argument is on the stack"},
      BadScript{"f { print(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) }",
                "1:5: a record has at most 12 values"}};
  for (const BadScript& bad : kBad) EXPECT_THAT(RefusalOf(bad.script), HasSubstr(bad.message)) << bad.script;
}

TEST(Parser, DeepNestingIsRefused) {
  const std::string deep = "f if " + std::string(5'000, '(') + "1" + std::string(5'000, ')') + " { count }";
  EXPECT_THAT(RefusalOf(deep), HasSubstr("nested too deep"));
  std::string blocks = "f { ";
  for (int i = 0; i < 5'000; ++i) blocks += "if 1 { ";
  EXPECT_THAT(RefusalOf(blocks), HasSubstr("nested too deep"));
  EXPECT_THAT(RefusalOf("f if " + std::string(5'000, '!') + "1 { count }"), HasSubstr("nested too deep"));
  std::string fields = "f(A* a) if a";
  for (int i = 0; i < 5'000; ++i) fields += "->b";
  EXPECT_THAT(RefusalOf(fields + " { count }"), HasSubstr("path is too long"));
}

}  // namespace
}  // namespace lagwatch::probe
