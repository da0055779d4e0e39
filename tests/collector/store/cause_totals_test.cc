// SPDX-License-Identifier: Apache-2.0
// A store's totals of its causes are the sums of its reports, in whatever order these came.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "collector/ingest/group_commit.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::EncodeEnd;
using testing::MemoryCollector;
using testing::SampleReport;

constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kFirstDay = 20'000;

// Reports of hangs in random order, some with several reports, ends, kills and repetitions.
class Traffic {
 public:
  explicit Traffic(uint64_t seed) : random_(seed) {
    for (int i = 0; i < LAGWATCH_TRAFFIC_HANGS; ++i) AddHang();
    std::ranges::shuffle(batches_, random_);
  }
  const std::vector<std::string>& batches() const { return batches_; }

 private:
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  SampleReport Report(int64_t begin_ms) {
    SampleReport report;
    report.header.id = report.header.hang_id = base::CreateUuidV7(begin_ms + Below(1000));
    report.header.start_wall_ms = static_cast<uint64_t>(begin_ms);
    report.header.user = users_[static_cast<size_t>(Below(5))];
    report.header.app_version = Below(2) ? "1.0" : "1.1";
    report.header.loop = Below(2) ? "ui" : "io";
    report.verdict.word = Below(2) ? policies::VerdictWord::kCpu : policies::VerdictWord::kDisk;
    report.stack = {"Leaf" + std::to_string(Below(3)), "Caller", "Loop" + std::to_string(Below(2)), "main"};
    return report;
  }

  void AddHang() {
    const SampleReport first = Report((kFirstDay + Below(4)) * kDayMs);
    std::vector<base::Uuid> ids;
    int64_t elapsed_ns = 0;
    for (int64_t ordinal = 0; ordinal <= Below(3); ++ordinal) {
      SampleReport report = Report(static_cast<int64_t>(first.header.start_wall_ms));
      report.header.user = first.header.user;
      if (ordinal == 0) report.header.id = first.header.id;
      report.header.hang_id = first.header.id;
      report.header.ordinal = static_cast<uint32_t>(ordinal);
      report.header.elapsed_ns = static_cast<uint64_t>(elapsed_ns += 1 + Below(2'000'000'000));
      std::string encoded = report.Encode();
      if (Below(4) == 0) report::AppendSampleRate(report::RecordType::kReport, 250'000, &encoded);
      report::AppendCause(static_cast<uint64_t>(1 + Below(4)), &encoded);
      batches_.push_back(testing::EncodeBatch({encoded}));
      if (Below(5) == 0) batches_.push_back(batches_.back());
      ids.push_back(report.header.id);
    }
    if (Below(4) != 0) {
      for (const base::Uuid& id : ids)
        batches_.push_back(testing::EncodeBatch({}, {EncodeEnd(id, elapsed_ns + 500'000'000)}));
    } else {
      report::RunEnd end{.session_id = base::CreateUuidV7(1), .reason = policies::ExitReason::kKilledInHang};
      end.report_id = ids.front();
      end.hang_ns = static_cast<uint64_t>(elapsed_ns + 100);
      std::string batch;
      report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(end)}, &batch);
      batches_.push_back(batch);
    }
  }

  std::mt19937_64 random_;
  const std::vector<std::string> users_ = {"", "u-1", "u-2", "u-3", "u-4"};
  std::vector<std::string> batches_;
};

std::map<std::string, CauseSums> SumsOfReports(Store* store, int level, const ReportFilter& filter) {
  std::map<std::string, CauseSums> sums;
  auto add = [&](const ReportRow& report) {
    const Contribution contribution{.hangs = report.is_lead ? 1 : 0,
                                    .hang_ns = report.hang_ns,
                                    .duration_ns = HangDurationNs(report),
                                    .weight = WeightOf(report.sample_rate_ppm),
                                    .seen_ms = report.start_wall_ms,
                                    .user = CountedUser(report.user, report.session_id)};
    contribution.AddTo(&sums[level == 1 ? report.level1_key : report.level2_key], 1);
  };
  EXPECT_TRUE(store->ForEachReport(filter, add).ok());
  return sums;
}

// Each is what a list of that version alone says.
void ExpectVersions(Store* store, ReportFilter filter, const CauseRow& cause) {
  const auto versions = store->CauseVersions(cause.cluster.key, filter).value();
  for (const CauseVersion& version : versions) {
    filter.version = version.version;
    const auto alone = store->FindCause(cause.cluster.key, filter)->value();
    EXPECT_EQ(version.sums.reports, alone.sums.reports);
    EXPECT_EQ(version.sums.hang_ns, alone.sums.hang_ns);
    EXPECT_EQ(version.sums.users.Count(), alone.sums.users.Count());
    EXPECT_EQ(version.sums.first_seen_ms, alone.sums.first_seen_ms);
    EXPECT_NEAR(version.estimated_hang_ns, alone.estimated_hang_ns, 1);
  }
  EXPECT_EQ(versions.size(), cause.versions.size());
}

void ExpectTotals(Store* store, const ReportFilter& filter, const std::string& what) {
  SCOPED_TRACE(what);
  for (int level : {1, 2}) {
    const auto expected = SumsOfReports(store, level, filter);
    const auto page = store->Causes({.filter = filter, .level = level, .limit = 1000});
    ASSERT_TRUE(page.ok()) << page.status().message();
    ASSERT_EQ(page->causes.size(), expected.size());
    for (const CauseRow& cause : page->causes) {
      const CauseSums& sums = expected.at(cause.cluster.key);
      EXPECT_EQ(cause.sums.reports, sums.reports);
      EXPECT_EQ(cause.sums.hangs, sums.hangs);
      EXPECT_EQ(cause.sums.hang_ns, sums.hang_ns);
      EXPECT_NEAR(cause.sums.weighted_hang_ns, sums.weighted_hang_ns, 1);
      EXPECT_EQ(cause.sums.users.Count(), sums.users.Count());
      EXPECT_NEAR(static_cast<double>(cause.sums.durations.PercentileNs(50)),
                  static_cast<double>(sums.durations.PercentileNs(50)),
                  0.0115 * static_cast<double>(sums.durations.PercentileNs(50)));
    }
    if (level == 1) ExpectVersions(store, filter, page->causes.front());
    EXPECT_TRUE(std::ranges::is_sorted(page->causes, std::greater(), &CauseRow::estimated_hang_ns));
  }
}

// Up to a dozen batches as one: their bytes one after the other are a batch, too.
void Submit(const Traffic& traffic, MemoryCollector* collector) {
  const auto& batches = traffic.batches();
  for (size_t begin = 0, count = 1; begin < batches.size(); begin += count, count = count % 12 + 1) {
    std::string batch;
    for (size_t i = begin; i < std::min(begin + count, batches.size()); ++i) batch += batches[i];
    ASSERT_EQ(collector->ingest.Submit(batch).status().message(), "");
  }
  // Reports have gone from one cause to the other.
  while (collector->store->RepairSums(1000).value() > 0) {
  }
}

TEST(CauseTotals, AreThoseOfTheReports) {
  for (uint64_t seed = 1; seed <= LAGWATCH_TRAFFIC_SEEDS; ++seed) {
    MemoryCollector collector;
    Submit(Traffic(seed), &collector);
    Store* store = collector.store.get();
    const std::string of_seed = " of seed " + std::to_string(seed);
    ExpectTotals(store, {}, "all" + of_seed);
    ExpectTotals(store, {.version = "1.0"}, "a version" + of_seed);
    ExpectTotals(store, {.verdict = "disk", .loop = "ui"}, "a verdict and a loop" + of_seed);
    ExpectTotals(store, {.kind = "killed-in-hang"}, "a kind" + of_seed);
    ExpectTotals(store, {.first_day = kFirstDay + 1, .last_day = kFirstDay + 2}, "days" + of_seed);
    ExpectTotals(store, {.version = "1.0", .first_day = kFirstDay + 1}, "a version's days" + of_seed);
    ExpectTotals(store, {.user = "u-2"}, "a user" + of_seed);
  }
}

TEST(CauseTotals, AHangsTimeIsDividedAmongItsReportsOfOneCause) {
  MemoryCollector collector;
  Submit(Traffic(9), &collector);
  std::map<std::string, std::pair<int64_t, int64_t>> hangs;  // parts and whole
  std::map<std::string, int> leads;
  std::map<std::string, std::set<std::string>> causes;
  ASSERT_TRUE(collector.store
                  ->ForEachReport({},
                                  [&](const ReportRow& report) {
                                    auto& [parts, whole] = hangs[base::ToString(report.hang_id)];
                                    parts += report.hang_ns;
                                    whole = std::max(whole, HangDurationNs(report));
                                    leads[base::ToString(report.hang_id)] += report.is_lead;
                                    causes[base::ToString(report.hang_id)].insert(report.level2_key);
                                  })
                  .ok());
  double all_ns = 0;
  for (const auto& [id, hang] : hangs) {
    EXPECT_EQ(hang.first, hang.second);
    EXPECT_EQ(leads[id], 1);
    EXPECT_EQ(causes[id].size(), 1u);
    all_ns += static_cast<double>(hang.second);
  }
  const CausePage page = collector.store->Causes({}).value();
  for (const CauseRow& cause : page.causes) EXPECT_GT(cause.sums.hangs, 0) << cause.cluster.key;
  EXPECT_EQ(page.all.sums.hang_ns, all_ns);
  EXPECT_EQ(page.all.sums.hangs, static_cast<int64_t>(hangs.size()));
}

ClusterPath PathOf(const std::string& leaf) {
  ClusterPath path;
  path[0] = {"1-" + leaf, 1, "", {leaf}, ""};
  path[1] = {"2-" + leaf, 2, "1-" + leaf, {leaf, "Caller"}, ""};
  return path;
}

TEST(CauseTotals, FollowReportsToTheirNewClusters) {
  MemoryCollector collector;
  Submit(Traffic(5), &collector);
  Store* store = collector.store.get();
  std::vector<Reclustered> moved;
  const auto reports = store->ReportsAfter({}, 100'000).value();
  for (size_t i = 0; i < reports.size(); ++i) {
    if (i % 3 != 0) moved.push_back({.id = reports[i].row.id, .clusters = PathOf(i % 2 ? "Odd" : "Even")});
  }
  ASSERT_TRUE(store->Recluster(moved).ok());
  while (store->RepairSums(10).value() != 0) {
  }
  ExpectTotals(store, {}, "all");
  ExpectTotals(store, {.version = "1.0"}, "a version");
  ExpectTotals(store, {.first_day = kFirstDay + 1, .last_day = kFirstDay + 2}, "days");
  EXPECT_EQ(store->FindCluster("2-Odd")->value().parent_key, "1-Odd");
}

TEST(CauseTotals, AreOfTheReportsThatAreKept) {
  MemoryCollector collector;
  Submit(Traffic(6), &collector);
  Store* store = collector.store.get();
  const int64_t before = store->Causes({})->all.sums.reports;
  const int64_t removed = store->RemoveBefore(kFirstDay + 2, 50).value();
  EXPECT_GE(removed, LAGWATCH_TRAFFIC_HANGS / 3);
  EXPECT_EQ(store->Causes({})->all.sums.reports, before - removed);
  while (store->RemoveBefore(kFirstDay + 2, 50).value() != 0) {
  }
  while (store->RepairSums(10).value() != 0) {
  }
  EXPECT_TRUE(store->Reports({.last_day = kFirstDay + 1}, 1)->empty());
  EXPECT_FALSE(store->Reports({.last_day = kFirstDay + 2}, 1)->empty());
  ExpectTotals(store, {}, "all");
  ExpectTotals(store, {.version = "1.0"}, "a version");
  ExpectTotals(store, {.first_day = kFirstDay, .last_day = kFirstDay + 2}, "days");
}

TEST(CauseTotals, NothingIsLeftOfWhatIsNotKept) {
  MemoryCollector collector;
  Submit(Traffic(6), &collector);
  ASSERT_GT(collector.store->RemoveBefore(kFirstDay + 100, 100'000).value(), 0);
  while (collector.store->RepairSums(10).value() != 0) {
  }
  const CausePage page = collector.store->Causes({}).value();
  EXPECT_TRUE(page.causes.empty());
  EXPECT_EQ(page.all.sums.reports, 0);
}

TEST(Store, KnowsWhichReportsWantNames) {
  MemoryCollector collector;
  SampleReport unnamed;
  unnamed.stack = {"@0x1f", "Caller"};
  collector.Submit({unnamed, SampleReport()});
  const auto builds = collector.store->UnnamedBuilds(10).value();
  ASSERT_EQ(builds.size(), 1u);
  EXPECT_EQ(builds[0].reports, 1);
  const auto reports = collector.store->ReportsWithUnnamed(builds[0].build_id, 10).value();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].row.id, unnamed.header.id);
  const Reclustered named{unnamed.header.id, PathOf("Leaf"), builds[0].build_id};
  ASSERT_TRUE(collector.store->Recluster(std::vector{named}).ok());
  EXPECT_TRUE(collector.store->UnnamedBuilds(10)->empty());
  EXPECT_EQ(collector.store->FindReport(unnamed.header.id)->value().row.level2_key, "2-Leaf");
}

TEST(Store, KeepsWhatPeopleSayOfClusters) {
  MemoryCollector collector;
  const ClusterNote note{
      .key = "k", .title = "<b>slow'; DROP TABLE reports", .state = "known", .changed_wall_ms = 7};
  ASSERT_TRUE(collector.store->PutNote({.key = "k", .title = "before"}).ok());
  ASSERT_TRUE(collector.store->PutNote(note).ok());
  EXPECT_EQ(collector.store->Notes().value(), std::vector{note});
}

TEST(GroupCommit, AnswersEachRequestForItself) {
  MemoryCollector collector;
  std::vector<IngestResult> results(100);
  {
    GroupCommit commits(collector.store.get());
    for (size_t i = 0; i < results.size(); ++i) {
      // Every second one was there already.
      static SampleReport report;
      if (i % 2 == 0) report = SampleReport();
      collector.ingest.Submit(testing::EncodeBatch({report.Encode()}), &commits,
                              [&results, i](auto result) { results[i] = result.value(); });
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].accepted, i % 2 == 0 ? 1 : 0) << i;
    EXPECT_EQ(results[i].duplicates, i % 2) << i;
  }
  EXPECT_EQ(collector.store->Causes({})->all.sums.reports, 50);
}

}  // namespace
}  // namespace lagwatch::collector
