// SPDX-License-Identifier: Apache-2.0
// The program with a damaged database: it goes on with a new one, and `repair` salvages the old.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "base/clock.h"
#include "collector/cluster/clusterer.h"
#include "collector/ingest/unread_limits.h"
#include "collector/store/sqlite/damage/salvage.h"
#include "collector/store/sqlite/damage/set_aside.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/operator/running_collector.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Process;
using testing::SampleReport;
using ::testing::SizeIs;

constexpr size_t kPageBytes = 4096;
constexpr int kReports = 2000;

class DamageProgram : public testing::RunningCollector {
 protected:
  static std::string ReportNumber(int number) {
    const int64_t wall_ms = base::SystemClock().WallMs();
    SampleReport report;
    report.header.user = "user-" + std::to_string(number);
    report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
    report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
    report.stack = {"Work" + std::to_string(number % 50), "Step", "main"};
    return report.Encode();
  }
  void Upload(int first, int count) {
    for (int begin = first; begin < first + count; begin += 100) {
      std::vector<std::string> reports;
      for (int i = begin; i < std::min(begin + 100, first + count); ++i) reports.push_back(ReportNumber(i));
      const Answer answer = Client(port_).Post(EncodeBatch(reports));
      ASSERT_EQ(answer.status, 200) << answer.text;
    }
  }
  // The users of all reports, over all pages of the list.
  std::multiset<std::string> Users() {
    std::multiset<std::string> users;
    std::string before;
    for (;;) {
      const auto page = Ask("GET", "/v1/reports?limit=1000" + before).json();
      for (const auto& report : page) users.insert(report["user"].get<std::string>());
      if (page.size() < 1000) return users;
      before = "&before=" + page.back()["id"].get<std::string>();
    }
  }
  // Overwrites `count` pages, never the first.
  void DamagePages(int count, unsigned seed) {
    const std::string path = data_ + "/collector.db";
    const auto pages = std::filesystem::file_size(path) / kPageBytes;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i) {
      std::string noise(kPageBytes, '\0');
      for (char& byte : noise) byte = static_cast<char>(random());
      file.seekp(static_cast<std::streamoff>((1 + random() % (pages - 1)) * kPageBytes));
      file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
    }
  }
  bool IsSetAside() const { return !ListAside(data_).empty(); }
  std::string Repair(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {LAGWATCH_COLLECTOR_PROGRAM, "repair", "--data", data_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Process repair(std::move(arguments));
    EXPECT_EQ(repair.Wait(), 0) << repair.Errors();
    return repair.Output();
  }
};

class DamagedPages : public DamageProgram, public ::testing::WithParamInterface<unsigned> {};

TEST_P(DamagedPages, ReportsAreTakenAndTheOldOnesSalvaged) {
  Start();
  Upload(0, kReports);
  Stop();
  DamagePages(20, GetParam());

  const int64_t begin_ms = base::SystemClock().WallMs();
  Start();
  ASSERT_TRUE(testing::WaitUntil([&] { return IsSetAside(); }, 60)) << collector_->Errors();
  ASSERT_TRUE(testing::WaitUntil([&] { return Ask("GET", "/readyz").status == 200; }));
  const auto ready = Ask("GET", "/readyz").json();
  EXPECT_THAT(ready["warnings"].dump(), HasSubstr("lagwatch-collector repair"));
  ASSERT_THAT(ready["set_aside"], SizeIs(1));
  EXPECT_THAT(ready["set_aside"][0]["reason"].get<std::string>(), HasSubstr("the database is damaged"));
  EXPECT_GE(ready["set_aside"][0]["at_ms"].get<int64_t>(), begin_ms);
  EXPECT_THAT(collector_->Errors(), HasSubstr("is set aside in"));
  Upload(kReports, 300);
  EXPECT_THAT(Users(), SizeIs(300));
  EXPECT_EQ(Ask("GET", "/v1/clusters").status, 200);
  Stop();

  const std::string said = Repair();
  EXPECT_THAT(said, HasSubstr("reports"));
  Start();
  const auto users = Users();
  const std::set<std::string> unique(users.begin(), users.end());
  EXPECT_EQ(users.size(), unique.size());  // none came twice
  for (int i = kReports; i < kReports + 300; ++i) EXPECT_TRUE(unique.contains("user-" + std::to_string(i)));
  EXPECT_GE(users.size(), size_t{kReports} * 8 / 10 + 300) << said;
  EXPECT_THAT(Ask("GET", "/readyz").text, Not(HasSubstr("repair")));
  EXPECT_FALSE(Ask("GET", "/readyz").json().contains("set_aside"));
  EXPECT_EQ(Ask("GET", "/v1/clusters?limit=1000").status, 200);
  Stop();
  EXPECT_THAT(Repair({"--remove"}), HasSubstr("nothing to repair"));
  EXPECT_THAT(ListAside(data_), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, DamagedPages, ::testing::Values(1u, 2u, 3u, 4u, 5u, 6u));

TEST_F(DamageProgram, ADatabaseThatCannotBeOpenedIsSetAsideAtTheStart) {
  Start();
  Upload(0, 10);
  Stop();
  std::fstream file(data_ + "/collector.db", std::ios::binary | std::ios::in | std::ios::out);
  file << std::string(kPageBytes, 'x');
  file.close();
  Start();
  EXPECT_TRUE(IsSetAside());
  const auto ready = Ask("GET", "/readyz").json();
  ASSERT_THAT(ready["set_aside"], SizeIs(1));
  EXPECT_THAT(ready["set_aside"][0]["reason"].get<std::string>(),
              AllOf(HasSubstr("collector.db"), Not(HasSubstr(data_))));
  Upload(10, 5);
  EXPECT_THAT(Users(), SizeIs(5));
  // The damaged one may have the user's records.
  EXPECT_EQ(Ask("POST", "/v1/admin/deletions", {{"kind", "user"}, {"subject", "user-11"}}).status, 202);
  EXPECT_TRUE(testing::WaitUntil([&] {
    return Ask("GET", "/v1/admin/deletions").text.find("repair --remove") != std::string::npos;
  })) << Ask("GET", "/v1/admin/deletions").text;
  Stop();
  EXPECT_THAT(Repair({"--remove"}), HasSubstr("reports"));
  Start();  // and the deletion goes on
  EXPECT_TRUE(testing::WaitUntil([&] { return Users().size() == 14; })) << Users().size();
  EXPECT_THAT(Users(), Not(::testing::Contains("user-11")));
}

NewRecord ToRecord(const SampleReport& sample, uint32_t rate_ppm = 0) {
  std::string payload = sample.Encode();
  if (rate_ppm != 0) report::AppendSampleRate(report::RecordType::kReport, rate_ppm, &payload);
  const report::Report report = report::DecodeReport(payload).value();
  return NewReport::Create(report, Clusterer::Create("").value().Assign(report), payload);
}

SampleReport NewSample() {
  SampleReport sample;
  sample.header.id = sample.header.hang_id = base::CreateUuidV7(base::SystemClock().WallMs());
  return sample;
}

bool SalvageBounded(const std::string& from, const std::string& to) {
  UnreadLimits unread;
  return Salvage(from, to, Clusterer::Create("").value(), [&](NewRecord* report) { unread.Bound(report); })
      .ok();
}

TEST(SalvageTest, ReportsKeepTheirBoundedNamesAndWeights) {
  const testing::ScopedTempDirectory directory;
  const std::string old = directory / "old.db";
  NewRecord record = ToRecord(SampleReport());
  ReportRow& row = std::get<NewReport>(record).row;
  row.app = row.version = row.loop = row.os = "(others)";
  row.elapsed_ns = 7;
  row.sample_rate_ppm = 1234;
  ASSERT_TRUE(SqliteStore::Open(old).value()->Commit(std::vector<NewRecord>{record}).ok());
  ASSERT_TRUE(SalvageBounded(old, directory / "new.db"));
  const auto rows = SqliteStore::Open(directory / "new.db").value()->Reports({}, 10).value();
  ASSERT_THAT(rows, SizeIs(1));
  for (const std::string& name : {rows[0].app, rows[0].version, rows[0].loop, rows[0].os})
    EXPECT_EQ(name, "(others)");
  EXPECT_EQ(rows[0].elapsed_ns, 7);
  EXPECT_EQ(rows[0].sample_rate_ppm, 1234);
}

// The rows that bounded them are gone.
TEST(SalvageTest, ReportsWhoseRowsAreUnreadableAreBoundedTogether) {
  const testing::ScopedTempDirectory directory;
  const std::string old = directory / "old.db";
  {
    std::vector<NewRecord> records;
    for (int i = 0; i < 100; ++i) {
      SampleReport sample;
      sample.header.id = sample.header.hang_id = base::CreateUuidV7(base::SystemClock().WallMs());
      const std::string user = "user-" + std::to_string(i);
      sample.header.user = user;
      sample.header.elapsed_ns = int64_t{29} * 86'400 * base::kNsPerSecond;
      records.push_back(ToRecord(sample, 1));
    }
    ASSERT_TRUE(SqliteStore::Open(old).value()->Commit(records).ok());
    Database(old).Execute("DELETE FROM reports");  // as if no page of theirs could be read
  }
  ASSERT_TRUE(SalvageBounded(old, directory / "new.db"));
  const auto store = std::move(SqliteStore::Open(directory / "new.db").value());
  ASSERT_THAT(store->Reports({}, 1000).value(), SizeIs(100));
  const CausePage page = store->Causes({}).value();
  EXPECT_LE(page.all.sums.weighted_hang_ns, 241e9 * 3600);
  EXPECT_EQ(page.all.sums.capped_reports, 100);
}

// Such as after a disk had no room for the new database.
TEST(SetAsideTest, ASecondTryMovesNothingMore) {
  const testing::ScopedTempDirectory directory;
  const auto store = std::move(SqliteStore::Open(directory / "collector.db").value());
  ASSERT_TRUE(store->Commit(std::vector<NewRecord>{ToRecord(SampleReport())}).ok());
  ASSERT_TRUE(store->SetAside(directory / "aside").ok());
  ASSERT_TRUE(store->SetAside(directory / "aside").ok());
  const auto aside = std::move(SqliteStore::Open(directory / "aside/collector.db").value());
  EXPECT_THAT(aside->Reports({}, 10).value(), SizeIs(1));
  EXPECT_THAT(store->Reports({}, 10).value(), IsEmpty());
}

// Threads that write, sync, read and check meanwhile end what they are at, and no lock is waited for.
TEST(SetAsideTest, TakesNoTimeWhileTheStoreIsInUse) {
  const testing::ScopedTempDirectory directory;
  std::atomic<int> syncs = 0;
  const auto sync_file = [&syncs](int) {  // every third time the disk refuses
    errno = EIO;
    return ++syncs % 3 == 0 ? -1 : 0;
  };
  const auto store = std::move(SqliteStore::Open(directory / "collector.db", sync_file).value());
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  const auto repeat = [&](auto work) {
    threads.emplace_back([&is_over, work] {
      while (!is_over) work();
    });
  };
  repeat([&] { std::ignore = store->CommitUnsynced(std::vector<NewRecord>{ToRecord(NewSample())}); });
  repeat([&] { std::ignore = store->Sync(); });
  for (int i = 0; i < 3; ++i) repeat([&] { std::ignore = store->Causes({}); });
  repeat([&] {
    CheckProgress progress;
    for (auto more = store->CheckPart(&progress); !is_over && more.ok() && *more;)
      more = store->CheckPart(&progress);
  });
  std::chrono::nanoseconds longest{};
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto begin = std::chrono::steady_clock::now();
    const std::string folder = directory / ("aside-" + std::to_string(i));
    const base::Status aside = store->SetAside(folder);
    EXPECT_TRUE(aside.ok()) << aside.message();
    longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - begin);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(longest, Database::kBusyTimeout);
}

// As one of a user does.
TEST_F(DamageProgram, ADeletionOfAProgramWaitsForTheDatabaseThatWasSetAside) {
  Start();
  Upload(0, 10);
  const std::string app = Ask("GET", "/v1/reports").json()[0]["app"];
  Stop();
  std::fstream(data_ + "/collector.db", std::ios::binary | std::ios::in | std::ios::out)
      << std::string(kPageBytes, 'x');
  Start();
  EXPECT_EQ(Ask("POST", "/v1/admin/deletions", {{"kind", "app"}, {"subject", app}}).status, 202);
  EXPECT_TRUE(testing::WaitUntil([&] {
    return Ask("GET", "/v1/admin/deletions").text.find("repair --remove") != std::string::npos;
  })) << Ask("GET", "/v1/admin/deletions").text;
  Stop();
  Repair({"--remove"});
  Start();
  EXPECT_TRUE(testing::WaitUntil([&] { return Users().empty(); })) << Users().size();
}

TEST_F(DamageProgram, RepairLeavesWhatIsNotDamaged) {
  std::filesystem::create_directories(data_);
  EXPECT_THAT(Repair(), HasSubstr("nothing to repair"));
  EXPECT_FALSE(std::filesystem::exists(data_ + "/collector.db"));
  Start();
  Upload(0, 10);
  Stop();
  {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open((data_ + "/collector.db").c_str(), &other), SQLITE_OK);
    ASSERT_EQ(
        sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
        SQLITE_OK);
    Process locked({LAGWATCH_COLLECTOR_PROGRAM, "repair", "--data", data_});
    EXPECT_EQ(locked.Wait(), 1);
    EXPECT_THAT(locked.Errors(), HasSubstr("locked"));
    sqlite3_close(other);
  }
  EXPECT_FALSE(IsSetAside());
  // As of a collector that could not make its new database.
  std::filesystem::create_directories(data_ + "/damaged/2026-01-01T000000Z");
  EXPECT_THAT(Repair(), HasSubstr("has no database with records"));
  Start();
  EXPECT_THAT(Users(), SizeIs(10));
}

// The log is moved first.
TEST_F(DamageProgram, AMoveThatFailedHalfWayIsFinishedAtTheStart) {
  Start();
  Upload(0, 10);
  Stop();
  const std::string folder = data_ + "/damaged/2026-01-01T000000Z";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/collector.db-wal").close();
  Start();
  EXPECT_TRUE(std::filesystem::exists(folder + "/collector.db"));
  EXPECT_THAT(Users(), IsEmpty());
  Stop();
  EXPECT_THAT(Repair({"--remove"}), HasSubstr("reports"));
  Start();
  EXPECT_THAT(Users(), SizeIs(10));
}

TEST_F(DamageProgram, AGoodDatabaseStays) {
  Start();
  Upload(0, 200);
  Process busy({LAGWATCH_COLLECTOR_PROGRAM, "repair", "--data", data_});
  EXPECT_EQ(busy.Wait(), 1);
  EXPECT_THAT(busy.Errors(), HasSubstr("another collector serves"));
  Stop();
  EXPECT_THAT(Repair(), HasSubstr("nothing to repair"));
  Start();
  EXPECT_THAT(Users(), SizeIs(200));
  EXPECT_FALSE(IsSetAside());
}

}  // namespace
}  // namespace lagwatch::collector
