// SPDX-License-Identifier: Apache-2.0
// Recordings under rules, of functions that are called very often, and of two builds of a program.
#include <filesystem>

#include "tests/tools/instrument/instrument_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST_F(InstrumentTest, RecordsWhatTheRulesTake) {
  const std::string rules =
      Rules("- *\n+ namespace shop\n- shop::detail::*\n+ file generated/*\n- module libstdc++*\n");
  EXPECT_THAT(CallsOf({"--rules", rules}, {LAGWATCH_RULED_PROGRAM, "calls"}),
              UnorderedElementsAre(Pair("shop::Save", 8), Pair("shop::(anonymous namespace)::Hide", 3),
                                   Pair("find_in_table", 2)));
}

TEST_F(InstrumentTest, FindsRulesBesideTheProgram) {
  const std::string program = directory_ / "ruled_program";
  std::filesystem::copy_file(LAGWATCH_RULED_PROGRAM, program);
  std::ofstream(directory_ / "instrument.rules") << "+ add_*\n";
  EXPECT_THAT(CallsOf({"--patch", "*"}, {program, "calls"}), UnorderedElementsAre(Pair("add_numbers", 7)));
  EXPECT_THAT(CallsOf({"--patch", "*", "--rules", Rules("+ find_*")}, {program, "calls"}),
              UnorderedElementsAre(Pair("find_in_table", 2)));
  // They choose, and do not patch.
  EXPECT_TRUE(CallsOf({}, {program, "calls"}).empty());
}

TEST_F(InstrumentTest, FunctionsThatAreCalledTooOftenLeave) {
  constexpr size_t kCalls = 200'000'000;
  const auto calls = CallsOf({"--rules", Rules("+ *_numbers\n+ find_*\n")},
                             {LAGWATCH_RULED_PROGRAM, "hot", std::to_string(kCalls)});
  EXPECT_THAT(errors_, HasSubstr("1 patched functions left out, because they were called too often"));
  // Once it has left, the other one's calls, of which there are few, stay.
  EXPECT_GT(calls.at("find_in_table"), kCalls / 100'000 / 2) << errors_;
}

TEST_F(InstrumentTest, AMillionEventsAreKept) {
  constexpr size_t kCalls = 700'000;
  const auto calls = CallsOf({"--rules", Rules("+ *_numbers\n"), "--call-limit", "0"},
                             {LAGWATCH_RULED_PROGRAM, "hot", std::to_string(kCalls)});
  EXPECT_GE(2 * calls.at("add_numbers"), 1'000'000U) << errors_;
  EXPECT_THAT(errors_, HasSubstr("blocks of calls overwritten"));
  const auto all = CallsOf({"--rules", Rules("+ *_numbers\n"), "--call-limit", "0", "--call-mib", "12"},
                           {LAGWATCH_RULED_PROGRAM, "hot", std::to_string(kCalls)});
  EXPECT_EQ(all.at("add_numbers"), kCalls);
}

TEST_F(InstrumentTest, CallTreesOfTwoBuildsAreCompared) {
  const std::string before = directory_ / "before.lwtrace";
  const std::string after = directory_ / "after.lwtrace";
  const std::string rules = Rules("+ namespace shop\n+ only_*\n");
  ASSERT_EQ(Run({"trace", "record", "--rules", rules, "-o", before, "--", LAGWATCH_RULED_PROGRAM, "calls"}),
            0)
      << errors_;
  ASSERT_EQ(Run({"trace", "record", "--rules", rules, "-o", after, "--", LAGWATCH_RULED_PROGRAM_2, "calls"}),
            0)
      << errors_;
  const auto first = List({LAGWATCH_RULED_PROGRAM});
  const auto second = List({LAGWATCH_RULED_PROGRAM_2});
  const std::string name = "shop::Save(int)";
  ASSERT_NE(first.at(name)["offset"], second.at(name)["offset"]);
  EXPECT_EQ(first.at(name)["id"], second.at(name)["id"]);
  EXPECT_NE(first.at(name)["id"], first.at("shop::Save(shop::Cart const&)")["id"]);
  ASSERT_EQ(Run({"trace", "compare", before, after, "--json"}), 0) << errors_;
  std::map<std::string, std::pair<int, int>> calls;  // by id
  std::string of_new;
  for (const auto& node : nlohmann::json::parse(output_)) {
    if (node["id"].is_null()) continue;
    auto& [before_calls, after_calls] = calls[node["id"]];
    before_calls += node["before"]["calls"].get<int>();
    after_calls += node["after"]["calls"].get<int>();
    if (node["name"] == "only_in_the_second_build") of_new = node["id"];
  }
  EXPECT_EQ(calls[first.at(name)["id"]], std::pair(5, 5));
  EXPECT_EQ(calls[first.at("shop::Save(shop::Cart const&)")["id"]], std::pair(3, 3));
  EXPECT_EQ(calls[of_new], std::pair(0, 5));
  ASSERT_EQ(Run({"trace", "compare", before, after}), 0) << errors_;
  EXPECT_THAT(output_, ::testing::ContainsRegex("  5 +5 +shop::Save\n"));
}

}  // namespace
}  // namespace lagwatch::tools
