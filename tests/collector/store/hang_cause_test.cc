// SPDX-License-Identifier: Apache-2.0
// A hang is one hang of one cause, however many stacks were reported of it; in a store of any kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::EncodeEnd;
using testing::EncodeUsage;
using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::UnorderedElementsAre;

ClusterPath MovedTo(const std::string& leaf) {
  return {Cluster{"1-" + leaf, 1, "", {leaf}, ""}, Cluster{"2-" + leaf, 2, "1-" + leaf, {leaf, "Main"}, ""}};
}

class HangCause : public ::testing::Test {
 protected:
  HangCause() {
    Fill(&first_, "Load", 1'000);
    Fill(&second_, "Draw", 1'500);
  }

  void Fill(SampleReport* report, const std::string& function, uint64_t elapsed_ms) const {
    report->stack = {function, "Caller", "main"};
    report->header.hang_id = first_.header.id;
    report->header.session_id = first_.header.session_id;
    report->header.ordinal = elapsed_ms;
    report->header.elapsed_ns = elapsed_ms * base::kNsPerMs;
    report->header.user = "";
  }

  Store* store() const { return collector_.store.get(); }
  void Repair() const {
    while (store()->RepairSums(100).value() > 0) continue;
  }
  // The cause's first function, hangs, reports, users and hang time.
  std::vector<std::string> Causes() const {
    std::vector<std::string> causes;
    for (const Json& cause : collector_.Get("/v1/clusters")) {
      causes.push_back(cause["frames"][0].get<std::string>() + " " + cause["hangs"].dump() + " " +
                       cause["reports"].dump() + " " + cause["users"].dump() + " " + cause["hang_ms"].dump());
    }
    return causes;
  }
  std::vector<base::Uuid> ReportsIn(const std::string& function) const {
    std::vector<base::Uuid> ids;
    for (const Json& cause : collector_.Get("/v1/clusters")) {
      if (cause["frames"][0] != function) continue;
      const auto reports = store()->Reports({.cluster_key = cause["key"]}, 10).value();
      for (const ReportRow& report : reports) ids.push_back(report.id);
    }
    return ids;
  }
  std::string CauseOf(const SampleReport& report) const {
    return store()->FindReport(report.header.id)->value().row.level1_key;
  }

  MemoryCollector collector_;
  SampleReport first_, second_;
};

TEST_F(HangCause, IsThatOfItsLongestPart) {
  collector_.Submit({first_});
  collector_.Submit({second_});
  EXPECT_THAT(Causes(), ElementsAre("Load 1 2 1 1500.0"));
  EXPECT_THAT(ReportsIn("Load"), UnorderedElementsAre(first_.header.id, second_.header.id));
  collector_.Submit({}, {EncodeEnd(first_.header.id, 9'000 * base::kNsPerMs)});
  EXPECT_THAT(Causes(), ElementsAre("Draw 1 2 1 9000.0"));
  EXPECT_THAT(ReportsIn("Draw"), UnorderedElementsAre(first_.header.id, second_.header.id));
}

TEST_F(HangCause, IsTheSameWhateverComesFirst) {
  collector_.Submit({}, {EncodeEnd(second_.header.id, 9'000 * base::kNsPerMs)});
  collector_.Submit({second_});
  collector_.Submit({first_});
  EXPECT_THAT(Causes(), ElementsAre("Draw 1 2 1 9000.0"));
  EXPECT_EQ(CauseOf(first_), CauseOf(second_));
}

TEST_F(HangCause, LeavesNothingInTheCauseThatItWasTakenFor) {
  SampleReport other;
  other.stack = first_.stack;
  collector_.Submit({first_, second_, other}, {EncodeEnd(first_.header.id, 9'000 * base::kNsPerMs)});
  Repair();
  EXPECT_THAT(Causes(), UnorderedElementsAre("Draw 1 2 1 9000.0", ::testing::StartsWith("Load 1 1 1 ")));
}

TEST_F(HangCause, FollowsItsLeadToOtherClusters) {
  collector_.Submit({first_, second_});
  const std::string before = CauseOf(first_);
  ASSERT_TRUE(store()->Recluster(std::vector{Reclustered{second_.header.id, MovedTo("Drawn")}}).ok());
  EXPECT_EQ(CauseOf(first_), before);
  EXPECT_EQ(CauseOf(second_), before);
  ASSERT_TRUE(store()->Recluster(std::vector{Reclustered{first_.header.id, MovedTo("Loaded")}}).ok());
  EXPECT_EQ(CauseOf(first_), "1-Loaded");
  EXPECT_EQ(CauseOf(second_), "1-Loaded");
  collector_.Submit({}, {EncodeEnd(first_.header.id, 9'000 * base::kNsPerMs)});
  EXPECT_EQ(CauseOf(first_), "1-Drawn");
  EXPECT_EQ(CauseOf(second_), "1-Drawn");
}

TEST_F(HangCause, IsRemovedWithAllReportsOfIt) {
  collector_.Submit({first_, second_});
  const Removal removal{.by = Removal::By::kCluster, .subject = CauseOf(first_)};
  RemovalProgress progress;
  while (store()->Remove(removal, 1, &progress).value()) continue;
  EXPECT_EQ(progress.reports, 2);
  Repair();
  EXPECT_THAT(Causes(), ElementsAre());
}

TEST_F(HangCause, CountsUsersAsUsageDoes) {
  SampleReport of_the_run, of_another;
  Fill(&of_the_run, "Load", 700);
  Fill(&of_another, "Load", 700);
  of_the_run.header.hang_id = of_the_run.header.id;
  of_another.header.hang_id = of_another.header.id;
  of_another.header.session_id = base::CreateUuidV7(1);
  collector_.Submit({first_, of_the_run, of_another});
  std::string batch;
  for (const SampleReport* report : {&first_, &of_another}) {
    const report::Usage usage{.id = base::CreateUuidV7(1),
                              .session_id = report->header.session_id,
                              .app = "editor",
                              .loops = {{"ui", {.watched_ns = 1}}}};
    report::AppendToBatch({report::RecordType::kUsage, EncodeUsage(usage)}, &batch);
  }
  ASSERT_TRUE(collector_.ingest.Submit(batch).ok());
  EXPECT_EQ(collector_.Get("/v1/clusters")[0]["users"], 2);
  EXPECT_EQ(collector_.Get("/v1/usage")[0]["users"], 2);
}

}  // namespace
}  // namespace lagwatch::collector
