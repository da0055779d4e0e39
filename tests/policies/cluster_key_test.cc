// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cluster_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Frames = std::vector<std::string>;

ClusterRules Rules() {
  ClusterRules rules;
  EXPECT_TRUE(
      rules.Add("[waits]\nlock*\nsleep\n[skipped]\nstd::*\n[modules]\nlibc.so*\n[ends]\nmain\ndispatch\n")
          .ok());
  return rules;
}

std::vector<ClusterFunction> Stack(const Frames& names) {
  std::vector<ClusterFunction> stack;
  for (const std::string& name : names)
    stack.push_back({name, Rules().RoleOf(name, name.starts_with("c_") ? "libc.so.6" : "app")});
  return stack;
}

std::vector<std::string_view> Significant(const Frames& names) { return SignificantNames(Stack(names)); }

TEST(SignificantNames, LeaveOutWaitsAndLibrariesWhereverTheyStand) {
  EXPECT_THAT(Significant({"lock", "c_memcpy", "Lookup", "std::function::operator()", "OnKey", "Run"}),
              ElementsAre("Lookup", "OnKey", "Run"));
}

TEST(SignificantNames, EndAtTheInnermostEnd) {
  EXPECT_THAT(Significant({"Save", "OnSave", "dispatch", "Dialog", "OnOpen", "dispatch", "main"}),
              ElementsAre("Save", "OnSave"));
  EXPECT_THAT(Significant({"lock", "dispatch", "Run"}), IsEmpty());
  EXPECT_THAT(Significant({}), IsEmpty());
}

TEST(SignificantNames, HaveARecursionOnceWhereverItWasFound) {
  EXPECT_THAT(Significant({"A", "A", "A", "Parse"}), ElementsAre("A", "Parse"));
  EXPECT_THAT(Significant({"A", "B", "A", "B", "Parse"}), ElementsAre("A", "B", "Parse"));
  EXPECT_THAT(Significant({"B", "A", "B", "Parse"}), ElementsAre("A", "B", "Parse"));
  EXPECT_THAT(Significant({"Leaf", "A", "A", "Parse"}), ElementsAre("Leaf", "A", "Parse"));
}

TEST(NameOfTheRest, IsTheInnermostEndElseTheInnermostFrame) {
  EXPECT_THAT(NameOfTheRest(Stack({"lock", "dispatch", "main"})), ElementsAre("dispatch"));
  EXPECT_THAT(NameOfTheRest(Stack({"lock", "c_read"})), ElementsAre("lock"));
  EXPECT_THAT(NameOfTheRest({}), IsEmpty());
}

TEST(WithoutPassingNames, BeginsWhereTheSamplesAgree) {
  const std::vector<SeenNames> samples = {
      {{"Find", "Parse", "OnKey"}, 8}, {{"Parse", "OnKey"}, 8}, {{"Find", "Parse", "OnKey"}, 4}};
  EXPECT_THAT(WithoutPassingNames({"Find", "Parse", "OnKey"}, samples), ElementsAre("Parse", "OnKey"));
}

TEST(WithoutPassingNames, KeepsWhatTookMostOfTheTimeInOneGo) {
  const SeenNames guilty = {{"Load", "OnKey"}, 12};
  const std::vector<SeenNames> samples = {{{"Play", "OnKey"}, 3}, guilty, {{"Draw", "OnKey"}, 5}};
  EXPECT_THAT(WithoutPassingNames({"Load", "OnKey"}, samples), ElementsAre("Load", "OnKey"));
  EXPECT_THAT(WithoutPassingNames({"Draw", "OnKey"}, samples), ElementsAre("OnKey"));
}

TEST(WithoutPassingNames, KnowsNoPhasesInAFewSamples) {
  const std::vector<SeenNames> samples = {{{"Find", "Parse"}, 3}, {{"Parse"}, 2}};
  EXPECT_THAT(WithoutPassingNames({"Find", "Parse"}, samples), ElementsAre("Parse"));
}

TEST(WithoutPassingNames, ForgivesASampleInTen) {
  const std::vector<SeenNames> samples = {{{"Find", "Parse"}, 18}, {{"Parse"}, 2}, {{}, 5}};
  EXPECT_THAT(WithoutPassingNames({"Find", "Parse"}, samples), ElementsAre("Find", "Parse"));
}

TEST(WithoutPassingNames, LeavesSomethingInAnyCase) {
  const std::vector<SeenNames> samples = {{{"A"}, 1}, {{"B"}, 1}};
  EXPECT_THAT(WithoutPassingNames({"A"}, samples), ElementsAre("A"));
  EXPECT_THAT(WithoutPassingNames({"A"}, {}), ElementsAre("A"));
  EXPECT_THAT(WithoutPassingNames({}, samples), IsEmpty());
}

class InnermostSignificantTest : public ::testing::Test {
 protected:
  const WaitFrames waits_ = Rules().waits();
};

TEST_F(InnermostSignificantTest, DropsWaitsFromTheInnermostEndOnly) {
  const Frames stack = {"lock_slow", "lock", "Lookup", "sleep", "OnKey", "main"};
  EXPECT_THAT(InnermostSignificant(stack, 2, waits_), ElementsAre("Lookup", "sleep"));
  EXPECT_THAT(InnermostSignificant(stack, 4, waits_), ElementsAre("Lookup", "sleep", "OnKey", "main"));
}

TEST_F(InnermostSignificantTest, TakesWhatThereIsOfAShortStack) {
  EXPECT_THAT(InnermostSignificant(Frames{"sleep", "main"}, 4, waits_), ElementsAre("main"));
  EXPECT_THAT(InnermostSignificant(Frames{}, 4, waits_), IsEmpty());
}

TEST_F(InnermostSignificantTest, KeepsAStackOfNothingButWaits) {
  EXPECT_THAT(InnermostSignificant(Frames{"lock_slow", "lock", "sleep"}, 2, waits_),
              ElementsAre("lock_slow", "lock"));
}

TEST(ClusterKey, IsTheSameInEveryVersion) {
  EXPECT_EQ(ClusterKey(ClusterBy::kRaw, 1, Frames{"Index::Lookup", "Editor::OnKey"}), "c5439bc0b8cb52f3");
  EXPECT_EQ(
      ClusterKey(ClusterBy::kRaw, 2, Frames{"Index::Lookup", "Editor::OnKey", "Editor::Handle", "main"}),
      "1b3d227fbd7e346c");
  EXPECT_EQ(ClusterKey(ClusterBy::kSignificant, 1, Frames{"Index::Lookup", "Editor::OnKey"}),
            "2db88e0f95514291");
  EXPECT_EQ(
      ClusterKey(ClusterBy::kSignificant, 1, Frames{"Index::Lookup", "Editor::OnKey"}, Frames{"Rebuild"}),
      "eb43411770e384bc");
}

TEST(ClusterKey, TellsLevelsFramesTheirOrderAndHoldersApart) {
  auto key = [](int level, const Frames& frames, const Frames& held_by = {}) {
    return ClusterKey(ClusterBy::kSignificant, level, frames, held_by);
  };
  const std::string ab = key(1, {"a", "b"});
  EXPECT_NE(key(2, {"a", "b"}), ab);
  EXPECT_NE(key(1, {"b", "a"}), ab);
  EXPECT_NE(key(1, {"ab"}), ab);
  EXPECT_NE(key(1, {"a", "b", ""}), ab);
  EXPECT_NE(key(1, {"a"}, {"b"}), ab);
  EXPECT_NE(key(1, {"a", "b"}, {"c"}), ab);
  EXPECT_EQ(key(1, {"a", "b"}), ab);
}

TEST(FramesOfLevel, IsTwoAndThenFour) {
  EXPECT_EQ(FramesOfLevel(1), 2u);
  EXPECT_EQ(FramesOfLevel(2), 4u);
}

}  // namespace
}  // namespace lagwatch::policies
