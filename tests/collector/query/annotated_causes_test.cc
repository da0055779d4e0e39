// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/annotated_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SampleReport;
using ::testing::SizeIs;

class AnnotatedCausesTest : public ::testing::Test {
 protected:
  void Submit(std::vector<std::string> stack, int64_t elapsed_ms, std::string_view version = "1.0") {
    SampleReport report{.stack = std::move(stack)};
    report.header.elapsed_ns = elapsed_ms * 1'000'000;
    report.header.app_version = version;
    collector_.Submit({report});
  }
  std::string KeyOf(const std::string& innermost, int level = 1) {
    const auto page = collector_.store->Causes({.level = level}).value();
    for (const CauseRow& cause : page.causes) {
      if (cause.cluster.frames.front() == innermost) return cause.cluster.key;
    }
    return "";
  }
  std::vector<std::string> Shown(const CauseQuery& query = {}) {
    std::vector<std::string> shown;
    const auto page = annotated_.Causes(query).value();
    for (const ShownCause& cause : page.causes) {
      shown.push_back(cause.row.cluster.frames.front() + " " +
                      std::to_string(static_cast<int64_t>(cause.row.sums.hang_ns) / 1'000'000));
    }
    return shown;
  }

  testing::MemoryCollector collector_;
  AnnotatedCauses annotated_{collector_.store.get()};
};

TEST_F(AnnotatedCausesTest, AMergedClusterCountsWhereItIsShown) {
  Submit({"Save", "OnSave"}, 3000);
  Submit({"Load", "OnLoad"}, 2000, "2.0");
  Submit({"Draw", "OnPaint"}, 4000);
  const std::string save = KeyOf("Save"), load = KeyOf("Load");
  ASSERT_TRUE(annotated_.Put({.key = load, .merged_into = save}).ok());
  EXPECT_THAT(Shown(), ElementsAre("Save 5000", "Draw 4000"));
  EXPECT_THAT(Shown({.limit = 1}), ElementsAre("Save 5000"));
  EXPECT_THAT(Shown({.limit = 1, .offset = 1}), ElementsAre("Draw 4000"));
  EXPECT_THAT(Shown({.filter = {.version = "2.0"}}), ElementsAre("Save 2000"));
  const auto cause = annotated_.Find(load)->value();
  EXPECT_EQ(cause.row.cluster.key, save);
  EXPECT_THAT(cause.merged_keys, ElementsAre(load));
  EXPECT_THAT(cause.row.versions, ElementsAre("1.0", "2.0"));
  EXPECT_THAT(cause.row.children, SizeIs(2));
  EXPECT_EQ(annotated_.Days(cause)->at(0).sums.reports, 2);
  EXPECT_THAT(annotated_.Reports({.cluster_key = save}, 10).value(), SizeIs(2));
  EXPECT_THAT(annotated_.Reports({.cluster_key = save}, 1).value(), SizeIs(1));
}

TEST_F(AnnotatedCausesTest, EverythingCanBeTakenBack) {
  Submit({"Save", "OnSave"}, 3000);
  Submit({"Load", "OnLoad"}, 2000);
  const std::string save = KeyOf("Save"), load = KeyOf("Load");
  ASSERT_TRUE(annotated_.Put({.key = load, .merged_into = save}).ok());
  ASSERT_TRUE(annotated_.Put({.key = load}).ok());
  EXPECT_THAT(Shown(), ElementsAre("Save 3000", "Load 2000"));
}

TEST_F(AnnotatedCausesTest, ASplitClusterIsShownAsItsParts) {
  Submit({"Wait", "Call", "Save", "OnSave"}, 3000);
  Submit({"Wait", "Call", "Load", "OnLoad"}, 2000);
  Submit({"Draw", "OnPaint"}, 2500);
  const std::string both = KeyOf("Wait");
  ASSERT_TRUE(annotated_.Put({.key = both, .is_split = true}).ok());
  EXPECT_THAT(Shown(), ElementsAre("Wait 3000", "Draw 2500", "Wait 2000"));
  const auto page = annotated_.Causes({}).value();
  EXPECT_THAT(page.causes[0].row.cluster.frames, ElementsAre("Wait", "Call", "Save", "OnSave"));
  // A part may go on into another cluster.
  const std::string part = page.causes[2].row.cluster.key;
  ASSERT_TRUE(annotated_.Put({.key = part, .merged_into = KeyOf("Draw")}).ok());
  EXPECT_THAT(Shown(), ElementsAre("Draw 4500", "Wait 3000"));
  ASSERT_TRUE(annotated_.Put({.key = both}).ok());
  EXPECT_THAT(Shown(), ElementsAre("Wait 5000", "Draw 2500"));
}

TEST_F(AnnotatedCausesTest, RefusesEditsThatMeanNothing) {
  Submit({"Wait", "Call", "Save", "OnSave"}, 3000);
  Submit({"Draw", "OnPaint"}, 2500);
  const std::string wait = KeyOf("Wait"), draw = KeyOf("Draw");
  const std::string part = annotated_.Find(wait)->value().row.children[0].cluster.key;
  EXPECT_EQ(annotated_.Put({.key = "none"}).code(), base::StatusCode::kNotFound);
  EXPECT_EQ(annotated_.Put({.key = wait, .merged_into = "none"}).code(), base::StatusCode::kNotFound);
  EXPECT_EQ(annotated_.Put({.key = wait, .merged_into = wait}).code(), base::StatusCode::kInvalid);
  EXPECT_EQ(annotated_.Put({.key = part, .is_split = true}).code(), base::StatusCode::kInvalid);
  EXPECT_EQ(annotated_.Put({.key = wait, .merged_into = draw, .is_split = true}).code(),
            base::StatusCode::kInvalid);
  EXPECT_THAT(annotated_.Put({.key = part, .merged_into = draw}).message(),
              HasSubstr("split that one first"));
  ASSERT_TRUE(annotated_.Put({.key = wait, .merged_into = draw}).ok());
  EXPECT_THAT(annotated_.Put({.key = draw, .merged_into = wait}).message(), HasSubstr("already"));
}

TEST_F(AnnotatedCausesTest, WhatWasFixedAndComesBackHasRegressed) {
  Submit({"Save", "OnSave"}, 3000, "1.9");
  const std::string key = KeyOf("Save");
  EXPECT_EQ(StateOf(annotated_.Find(key)->value()), "new");
  ASSERT_TRUE(annotated_.Put({.key = key, .state = "fixed", .fixed_in = "1.10"}).ok());
  EXPECT_EQ(StateOf(annotated_.Find(key)->value()), "fixed");
  Submit({"Save", "OnSave"}, 3000, "1.9");
  EXPECT_EQ(StateOf(annotated_.Find(key)->value()), "fixed");
  Submit({"Save", "OnSave"}, 3000, "1.10.1");
  EXPECT_EQ(StateOf(annotated_.Find(key)->value()), "regressed");
}

TEST_F(AnnotatedCausesTest, WithoutAVersionTheTimeTellsWhetherItIsBack) {
  Submit({"Save", "OnSave"}, 3000);
  const std::string key = KeyOf("Save");
  const int64_t seen_ms = annotated_.Find(key)->value().row.sums.last_seen_ms;
  ASSERT_TRUE(annotated_.Put({.key = key, .state = "fixed", .changed_wall_ms = seen_ms}).ok());
  EXPECT_EQ(StateOf(annotated_.Find(key)->value()), "fixed");
  ASSERT_TRUE(annotated_.Put({.key = key, .state = "fixed", .changed_wall_ms = seen_ms - 1}).ok());
  EXPECT_EQ(StateOf(annotated_.Find(key)->value()), "regressed");
}

}  // namespace
}  // namespace lagwatch::collector
