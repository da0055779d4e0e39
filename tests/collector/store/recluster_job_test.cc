// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/recluster_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::SampleReport;
using ::testing::UnorderedElementsAre;

class ReclusterJobTest : public ::testing::Test {
 protected:
  Clusterer With(const std::string& rules) {
    std::ofstream(directory_ / "rules.txt") << rules;
    return Clusterer::Create(directory_ / "rules.txt").value();
  }
  ReclusterJob JobWith(const std::string& rules) {
    return {collector_.store.get(), With(rules), nullptr, directory_ / "clustering"};
  }
  void SubmitMany(int count) {
    std::vector<SampleReport> reports;
    for (int i = 0; i < count; ++i)
      reports.push_back({.stack = {"Helper", i % 2 == 0 ? "Save" : "Load", "Run"}});
    collector_.Submit(reports);
  }
  std::vector<std::string> Causes() {
    std::vector<std::string> causes;
    const auto page = collector_.store->Causes({}).value();
    for (const CauseRow& cause : page.causes)
      causes.push_back(cause.cluster.frames.front() + " " + std::to_string(cause.sums.reports));
    return causes;
  }

  testing::ScopedTempDirectory directory_;
  testing::MemoryCollector collector_;
};

TEST_F(ReclusterJobTest, OtherRulesGiveOtherClusters) {
  SubmitMany(500);
  EXPECT_THAT(Causes(), ElementsAre("Helper 250", "Helper 250"));
  ReclusterJob job = JobWith("[skipped]\nHelper\n[ends]\nRun\n");
  EXPECT_TRUE(job.Step().value());
  EXPECT_TRUE(job.progress().is_running);
  EXPECT_EQ(job.progress().done, 200);
  EXPECT_EQ(job.progress().total, 500);
  while (job.Step().value()) {
  }
  EXPECT_THAT(Causes(), UnorderedElementsAre("Save 250", "Load 250"));
  EXPECT_FALSE(job.progress().is_running);
  EXPECT_EQ(job.progress().done, 500);
}

TEST_F(ReclusterJobTest, ItGoesOnAfterARestartAndIsDoneOnce) {
  SubmitMany(500);
  const std::string rules = "[skipped]\nHelper\n";
  ASSERT_TRUE(JobWith(rules).Step().value());
  ReclusterJob next = JobWith(rules);
  while (next.Step().value()) {
  }
  EXPECT_EQ(next.progress().done, 300);
  ReclusterJob last = JobWith(rules);
  EXPECT_FALSE(last.Step().value());
  EXPECT_EQ(last.progress().done, 0);
}

TEST_F(ReclusterJobTest, ADamagedFileHasItDoneAgain) {
  SubmitMany(3);
  std::ofstream(directory_ / "clustering") << "what?";
  ReclusterJob job = JobWith("[skipped]\nHelper\n");
  while (job.Step().value()) {
  }
  EXPECT_THAT(Causes(), UnorderedElementsAre("Save 2", "Load 1"));
}

}  // namespace
}  // namespace lagwatch::collector
