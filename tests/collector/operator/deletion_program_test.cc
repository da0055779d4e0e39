// SPDX-License-Identifier: Apache-2.0
// The program deletes a user: no file of its directory has the name afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/clock.h"
#include "collector/admin/audit_log.h"
#include "report/format/losses.h"
#include "tests/collector/operator/running_collector.h"
#include "tests/collector/sample_traces.h"

namespace lagwatch::collector {
namespace {

namespace fs = std::filesystem;

using testing::Answer;
using testing::Client;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SampleReport;

constexpr int kUsers = 20;
const std::string kDeleted = "jane.doe+7@people.example";

std::string UserOf(int number) {
  return number == 7 ? kDeleted : "user-" + std::to_string(number) + "@people.example";
}

class DeletionProgram : public testing::RunningCollector {
 protected:
  Answer SetForced(const std::string& user, bool is_forced) {
    return Ask("POST", "/v1/admin/allowlist", {{"user", user}, {"is_forced", is_forced}});
  }
  void UploadAllKinds() {
    const int64_t wall_ms = base::SystemClock().WallMs();
    for (int batch_number = 0; batch_number < 60; ++batch_number) {
      std::string batch;
      for (int i = 0; i < 20; ++i) Add(UserOf(static_cast<int>(random_() % kUsers)), wall_ms, &batch);
      const Answer answer = Client(port_).Post(batch);
      ASSERT_EQ(answer.status, 200) << answer.text;
      ASSERT_EQ(answer.json()["rejected"], 0) << answer.text;
    }
  }
  bool IsDeleted() {
    const auto deletions = Ask("GET", "/v1/admin/deletions").json();
    return !deletions.empty() && !deletions[0]["ended_wall_ms"].is_null();
  }
  // The files of the data directory that have the text.
  std::vector<std::string> FilesWith(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(data_)) {
      if (!entry.is_regular_file()) continue;
      if (ContentOf(entry.path()).find(text) != std::string::npos)
        found.push_back(fs::relative(entry.path(), data_));
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  using RecordType = report::RecordType;

  void Add(const std::string& user, int64_t wall_ms, std::string* batch) {
    SampleReport report;
    report.header.user = user;
    report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
    report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
    report.header.session_id = base::CreateUuidV7(wall_ms);
    report.stack = {"Work" + std::to_string(random_() % 40), "Step", "main"};
    report::AppendToBatch({RecordType::kReport, report.Encode()}, batch);
    report::RunEnd end{.session_id = report.header.session_id};
    end.run_start_wall_ms = static_cast<uint64_t>(wall_ms) - 60'000;
    end.last_seen_wall_ms = static_cast<uint64_t>(wall_ms);
    end.app = "editor";
    end.user = user;
    report::AppendToBatch({RecordType::kRunEnd, report::EncodeRunEnd(end)}, batch);
    report::Usage usage;
    usage.id = base::CreateUuidV7(wall_ms);
    usage.session_id = report.header.session_id;
    usage.app = "editor";
    usage.user = user;
    usage.begin_wall_ms = static_cast<uint64_t>(wall_ms) - 60'000;
    usage.end_wall_ms = static_cast<uint64_t>(wall_ms);
    report::AppendToBatch({RecordType::kUsage, testing::EncodeUsage(usage)}, batch);
    if (random_() % 10 != 0) return;
    report::TraceRecord trace = testing::TraceOf(report.header.id, testing::SampleTrace(), wall_ms);
    trace.user = user;
    trace.begin_wall_ms = static_cast<uint64_t>(wall_ms);
    report::AppendToBatch({RecordType::kTrace, report::EncodeTraceRecord(trace)}, batch);
  }

  std::mt19937 random_{5};
};

TEST_F(DeletionProgram, NoFileHasTheNameOfAUserWhoWasDeleted) {
  Start();
  UploadAllKinds();
  for (const std::string& user : {UserOf(1), kDeleted, UserOf(2)})
    ASSERT_EQ(SetForced(user, true).status, 200);
  ASSERT_EQ(SetForced(UserOf(2), false).status, 200);
  // As an older collector wrote it.
  std::ofstream(data_ + "/audit.jsonl", std::ios::app)
      << nlohmann::json{{"wall_ms", 1}, {"by", "alice"}, {"action", "allowlist.add"}, {"subject", kDeleted}}
      << "\n";
  EXPECT_THAT(FilesWith(kDeleted),
              ::testing::IsSupersetOf({"audit.jsonl", "collector.db-wal", "config.json"}));
  const size_t others = Ask("GET", "/v1/reports?limit=1000&user=" + UserOf(3)).json().size();
  ASSERT_GT(others, 0u);

  ASSERT_EQ(Ask("POST", "/v1/admin/deletions", {{"kind", "user"}, {"subject", kDeleted}}).status, 202);
  ASSERT_TRUE(testing::WaitUntil([&] { return IsDeleted(); }, 60)) << collector_->Errors();

  EXPECT_THAT(FilesWith(kDeleted), IsEmpty());
  EXPECT_THAT(collector_->Errors(), Not(HasSubstr(kDeleted)));
  // The digest is there, and what others have.
  EXPECT_THAT(FilesWith(SubjectDigest(kDeleted)), ::testing::ElementsAre("audit.jsonl", "deletions.json"));
  EXPECT_EQ(Ask("GET", "/v1/admin/config").json()["config"]["allowlist"], nlohmann::json({UserOf(1)}));
  EXPECT_EQ(Ask("GET", "/v1/reports?limit=1000&user=" + UserOf(3)).json().size(), others);
  Stop();
  EXPECT_THAT(FilesWith(kDeleted), IsEmpty());
}

}  // namespace
}  // namespace lagwatch::collector
