// SPDX-License-Identifier: Apache-2.0
// Requests are answered once the disk has their records, and never before.
#include "collector/ingest/group_commit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "collector/store/sqlite/sqlite_store.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::SampleReport;
using testing::WaitUntil;
using Outcomes = base::Result<std::vector<CommitOutcome>>;

// A disk that waits, or refuses, on request.
struct Disk {
  std::atomic<bool> waits = false;
  std::atomic<int> refusals = 0;
  std::atomic<int> syncs = 0;

  int Sync() {
    while (waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++syncs;
    if (refusals == 0) return 0;
    --refusals;
    errno = EIO;
    return -1;
  }
};

class GroupCommitTest : public ::testing::Test {
 protected:
  NewRecord ToRecord(const SampleReport& sample) {
    const std::string payload = sample.Encode();
    const report::Report report = report::DecodeReport(payload).value();
    return NewReport::Create(report, clusterer_.Assign(report), payload);
  }
  std::future<Outcomes> Commit(const SampleReport& sample, GroupCommit* commits) {
    auto answer = std::make_shared<std::promise<Outcomes>>();
    commits->Commit({ToRecord(sample)}, [answer](Outcomes outcomes) { answer->set_value(outcomes); });
    return answer->get_future();
  }
  std::future<Outcomes> CommitMany(int count, GroupCommit* commits, const Sender& sender) {
    std::vector<NewRecord> records;
    for (int i = 0; i < count; ++i) records.push_back(ToRecord(SampleReport()));
    auto answer = std::make_shared<std::promise<Outcomes>>();
    commits->Commit(
        std::move(records), [answer](Outcomes outcomes) { answer->set_value(outcomes); }, sender);
    return answer->get_future();
  }
  static bool IsAnswered(const std::future<Outcomes>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  int64_t ReportsIn(const std::string& path) {
    return SqliteStore::Open(path).value()->Causes({})->all.sums.reports;
  }

  testing::ScopedTempDirectory directory_;
  const std::string path_ = directory_ / "collector.db";
  Disk disk_;
  Clusterer clusterer_ = Clusterer::Create("").value();
  std::unique_ptr<SqliteStore> store_ =
      std::move(SqliteStore::Open(path_, [this](int) { return disk_.Sync(); }).value());
};

TEST_F(GroupCommitTest, TheNextGroupIsWrittenWhileTheDiskIsWaitedFor) {
  GroupCommit commits(store_.get());
  disk_.waits = true;
  auto first = Commit(SampleReport(), &commits);
  ASSERT_TRUE(WaitUntil([&] { return commits.commits() == 1; }));
  auto second = Commit(SampleReport(), &commits);
  ASSERT_TRUE(WaitUntil([&] { return store_->Causes({})->all.sums.reports == 2; }));
  EXPECT_FALSE(IsAnswered(first));
  EXPECT_FALSE(IsAnswered(second));
  disk_.waits = false;
  EXPECT_THAT(first.get().value(), ElementsAre(CommitOutcome::kStored));
  EXPECT_THAT(second.get().value(), ElementsAre(CommitOutcome::kStored));
}

TEST_F(GroupCommitTest, AnswersAllBeforeItEnds) {
  std::vector<std::future<Outcomes>> answers;
  {
    GroupCommit commits(store_.get());
    disk_.waits = true;
    for (int i = 0; i < 20; ++i) answers.push_back(Commit(SampleReport(), &commits));
    disk_.waits = false;
  }
  for (auto& answer : answers) EXPECT_THAT(answer.get().value(), ElementsAre(CommitOutcome::kStored));
}

// One sender's large request does not make others wait for all of it.
TEST_F(GroupCommitTest, SendersTakeTurns) {
  GroupCommit commits(store_.get());
  disk_.waits = true;
  std::vector<std::future<Outcomes>> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(CommitMany(2000, &commits, {.key = "a", .address = "1"}));
  auto of_other_key = CommitMany(2, &commits, {.key = "b", .address = "1"});
  auto of_other_address = CommitMany(2, &commits, {.key = "a", .address = "2"});
  disk_.waits = false;
  EXPECT_EQ(of_other_key.get()->size(), 2u);
  EXPECT_EQ(of_other_address.get()->size(), 2u);
  EXPECT_FALSE(IsAnswered(answers.back()));
  for (auto& answer : answers) {
    const Outcomes outcomes = answer.get();
    ASSERT_TRUE(outcomes.ok());
    EXPECT_THAT(*outcomes,
                ::testing::AllOf(::testing::SizeIs(2000), ::testing::Each(CommitOutcome::kStored)));
  }
}

// The rest of such a request fills no transaction.
TEST_F(GroupCommitTest, GoesOnAfterALargeRequestThatTheDiskRefused) {
  GroupCommit commits(store_.get());
  disk_.waits = true;
  auto large = CommitMany(6000, &commits, {.key = "a", .address = "1"});
  ASSERT_TRUE(WaitUntil([&] { return commits.commits() == 2; }));
  disk_.refusals = 1;
  disk_.waits = false;
  EXPECT_FALSE(large.get().ok());
  auto next = Commit(SampleReport(), &commits);
  ASSERT_TRUE(WaitUntil([&] { return IsAnswered(next); }));
  EXPECT_THAT(next.get().value(), ElementsAre(CommitOutcome::kStored));
}

// A copy without the log has what was brought to the database.
TEST_F(GroupCommitTest, AfterADiskRefusedASyncAllIsWrittenOnceMore) {
  GroupCommit commits(store_.get());
  const SampleReport report;
  disk_.refusals = 1;
  EXPECT_EQ(Commit(report, &commits).get().status().code(), base::StatusCode::kUnavailable);
  EXPECT_THAT(Commit(report, &commits).get().value(), ElementsAre(CommitOutcome::kDuplicate));
  const std::string copy = directory_ / "copy.db";
  std::filesystem::copy_file(path_, copy);
  EXPECT_EQ(ReportsIn(copy), 1);
}

// Its records are in the file that was set aside, and not on the disk.
TEST_F(GroupCommitTest, AGroupIsRefusedIfItsLogWasSetAsideUnsynced) {
  GroupCommit commits(store_.get());
  disk_.waits = true;
  auto synced = Commit(SampleReport(), &commits);
  ASSERT_TRUE(WaitUntil([&] { return commits.commits() == 1; }));
  auto unsynced = Commit(SampleReport(), &commits);
  ASSERT_TRUE(WaitUntil([&] { return store_->Causes({})->all.sums.reports == 2; }));
  disk_.refusals = 2;
  auto aside = std::async(std::launch::async, [&] { return store_->SetAside(directory_ / "aside"); });
  disk_.waits = false;
  EXPECT_TRUE(aside.get().ok());
  EXPECT_FALSE(synced.get().ok());
  EXPECT_FALSE(unsynced.get().ok());
  disk_.refusals = 0;
  EXPECT_THAT(Commit(SampleReport(), &commits).get().value(), ElementsAre(CommitOutcome::kStored));
}

TEST_F(GroupCommitTest, ASyncOfTheNewDatabaseSaysNothingOfTheOldOne) {
  const uint64_t before = store_->LostLogs();
  ASSERT_TRUE(store_->CommitUnsynced(std::vector<NewRecord>{ToRecord(SampleReport())}).ok());
  disk_.refusals = 1;
  ASSERT_TRUE(store_->SetAside(directory_ / "aside").ok());
  EXPECT_TRUE(store_->Sync().ok());
  EXPECT_EQ(store_->CheckNotLost(before).code(), base::StatusCode::kUnavailable);
  EXPECT_TRUE(store_->Commit(std::vector<NewRecord>{ToRecord(SampleReport())}).ok());
}

// With the locks in another order, this never ends.
TEST_F(GroupCommitTest, ADatabaseIsSetAsideWhileTheDiskRefuses) {
  GroupCommit commits(store_.get());
  disk_.refusals = 1 << 30;
  std::atomic<bool> is_over = false;
  std::thread uploads([&] {
    while (!is_over) EXPECT_FALSE(Commit(SampleReport(), &commits).get().ok());
  });
  for (int i = 0; i < 20; ++i) {
    const base::Status aside = store_->SetAside(directory_ / ("aside" + std::to_string(i)));
    EXPECT_TRUE(aside.ok()) << aside.message();
  }
  is_over = true;
  uploads.join();
  disk_.refusals = 0;
  EXPECT_THAT(Commit(SampleReport(), &commits).get().value(), ElementsAre(CommitOutcome::kStored));
}

TEST_F(GroupCommitTest, TheLogStaysBoundedAfterADatabaseWasSetAside) {
  ASSERT_TRUE(store_->SetMostBytes(8 << 20).ok());  // of which the log may take half a MiB
  ASSERT_TRUE(store_->SetAside(directory_ / "aside").ok());
  for (int i = 0; i < 300; ++i)
    ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{ToRecord(SampleReport())}).ok());
  EXPECT_LT(store_->Size().log_bytes, uint64_t{1} << 20);
}

TEST_F(GroupCommitTest, ACommitAloneWaitsForTheDisk) {
  const int before = disk_.syncs;
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{ToRecord(SampleReport())}).ok());
  EXPECT_GT(disk_.syncs, before);
  disk_.refusals = 1;
  EXPECT_FALSE(store_->Commit(std::vector<NewRecord>{ToRecord(SampleReport())}).ok());
  EXPECT_TRUE(store_->PutNote({.key = "k"}).ok());
}

}  // namespace
}  // namespace lagwatch::collector
