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
      rules
          .Add("[waits]\nlock*\nsleep\n[skipped]\nstd::*\n[modules]\nlibc.so*\n[ends]\nmain\ndispatch\n"
               "[signals]\n<signal>\n[loops]\nrun_loop\n")
          .ok());
  return rules;
}

std::vector<ClusterFunction> Stack(const Frames& names) {
  std::vector<ClusterFunction> stack;
  for (const std::string& name : names)
    stack.push_back({name, name.starts_with("z_")
                               ? FrameRole::kLibrary
                               : Rules().RoleOf(name, name.starts_with("c_") ? "libc.so.6" : "app")});
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

TEST(SignificantNames, AreOfLibrariesWhereNothingIsTheProgramsOwn) {
  EXPECT_THAT(Significant({"z_deflate", "z_compress", "Pack", "z_sort", "OnKey", "main"}),
              ElementsAre("Pack", "OnKey"));
  EXPECT_THAT(Significant({"z_deflate", "z_compress", "dispatch", "Run", "main"}),
              ElementsAre("z_deflate", "z_compress"));
  EXPECT_TRUE(HasOwnNames(Stack({"z_deflate", "Pack", "main"})));
  EXPECT_FALSE(HasOwnNames(Stack({"z_deflate", "dispatch", "Run", "main"})));
}

TEST(SignificantNames, AreOfASignalsHandlerNotOfWhatItInterrupted) {
  EXPECT_THAT(Significant({"sleep", "z_suspend", "<signal>", "Insert", "OnKey", "main"}),
              ElementsAre("z_suspend"));
  EXPECT_THAT(Significant({"Wait", "OnSuspend", "<signal>", "c_memcpy", "<signal>", "OnKey", "main"}),
              ElementsAre("Wait", "OnSuspend"));
  EXPECT_THAT(Significant({"sleep", "<signal>", "Insert", "OnKey", "main"}), ElementsAre("Insert", "OnKey"))
      << "a handler without names";
  EXPECT_THAT(Significant({"Work", "dispatch", "<signal>", "main"}), ElementsAre("Work"));
  EXPECT_TRUE(ReachesEnd(Stack({"z_suspend", "<signal>", "Insert"})));
  EXPECT_FALSE(ReachesEnd(Stack({"z_deflate", "z_compress"}))) << "cut";
}

TEST(SignificantNames, AreOfTheCallThatWaitsInALoopOfItsOwn) {
  EXPECT_THAT(Significant({"sleep", "run_loop", "z_call_sync", "Load", "OnKey", "run_loop", "Run", "main"}),
              ElementsAre("Load", "OnKey"));
  EXPECT_THAT(Significant({"sleep", "run_loop", "z_call_sync", "Load", "main"}), ElementsAre("Load"))
      << "at the start";
  EXPECT_THAT(Significant({"sleep", "run_loop", "run_loop", "AskUser", "OnKey", "run_loop", "main"}),
              ElementsAre("AskUser", "OnKey"));
  EXPECT_THAT(Significant({"sleep", "run_loop", "Run", "main"}), IsEmpty()) << "the program's loop, idle";
  EXPECT_THAT(Significant({"Draw", "run_loop", "z_call_sync", "Load", "run_loop", "main"}),
              ElementsAre("Draw"));
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

TEST(WithoutPassingNames, KnowsNothingOfACutStackBeyondItsEnd) {
  const std::vector<SeenNames> samples = {{{"Find", "Parse", "OnKey"}, 3},
                                          {{"Skip"}, 1, true},    // in Parse, or not
                                          {{"Parse"}, 1, true}};  // not in Find
  EXPECT_THAT(WithoutPassingNames({"Find", "Parse", "OnKey"}, samples), ElementsAre("Parse", "OnKey"));
}

TEST(WithCallersOf, TakesThemFromASampleThatWasNotCut) {
  const std::vector<SeenNames> samples = {
      {{"Find", "Parse"}, 1, true}, {{"Draw", "OnPaint"}, 1}, {{"Parse", "OnKey", "Run"}, 1}};
  EXPECT_THAT(WithCallersOf({"Find", "Parse"}, samples), ElementsAre("Find", "Parse", "OnKey", "Run"));
  EXPECT_THAT(WithCallersOf({"Save"}, samples), ElementsAre("Save"));
  EXPECT_THAT(WithCallersOf({}, samples), IsEmpty());
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
