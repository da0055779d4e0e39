// SPDX-License-Identifier: Apache-2.0
// The command line's output for the samples that freeze on locks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::Process;

class SamplesTest : public ::testing::Test {
 protected:
  // Long enough for a report on a machine that is slow.
  void RunSample(const std::string& program) {
    Process sample({program, "3", "300", spool_}, {"TSAN_OPTIONS=detect_deadlocks=0"});
    EXPECT_EQ(sample.Wait(), 0) << sample.Errors();
    EXPECT_EQ(sample.Errors(), "");
  }
  std::string Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.insert(question.end(), {"--spool", spool_});
    Process process(question);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return process.Output();
  }
  // The oldest report's id.
  std::string FirstReport() const {
    json reports = json::parse(Ask({"reports", "--json"}));
    return reports.empty() ? "" : reports.back()["id"].get<std::string>();
  }

  std::string NewestReport() const {
    json reports = json::parse(Ask({"reports", "--json"}));
    return reports.empty() ? "" : reports.front()["id"].get<std::string>();
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

TEST_F(SamplesTest, ADeadlockIsCalledOneWithEveryEdge) {
  RunSample(LAGWATCH_DEADLOCK);
  EXPECT_THAT(Ask({"reports"}), ContainsRegex("deadlock 1.0 +ui +transfer +Ledger::Transfer "));
  std::string id = FirstReport();
  std::string report = Ask({"report", id});
  EXPECT_THAT(report, HasSubstr("Wait chain"));
  EXPECT_THAT(
      report,
      ContainsRegex("thread [0-9]+ \\(deadlock\\) waits at Ledger::Transfer for mutex 0x[0-9a-f]+ held by "
                    "thread [0-9]+ \\(auditor\\) at Ledger::Audit"));
  EXPECT_THAT(report, ContainsRegex(
                          "thread [0-9]+ \\(auditor\\) waits at Ledger::Audit for mutex 0x[0-9a-f]+ held by "
                          "thread [0-9]+ \\(deadlock\\) at Ledger::Transfer"));
  EXPECT_THAT(report,
              ContainsRegex("deadlock: thread [0-9]+ waits for thread [0-9]+ waits for thread [0-9]+"));
  json shown = json::parse(Ask({"report", id, "--json"}));
  EXPECT_EQ(shown["deadlock"], true);
  ASSERT_EQ(shown["waits"].size(), 2u);
  EXPECT_EQ(shown["waits"][0]["tid"], shown["tid"]);
  EXPECT_EQ(shown["waits"][0]["owner"]["tid"], shown["waits"][1]["tid"]);
  EXPECT_EQ(shown["waits"][1]["owner"]["tid"], shown["tid"]);
}

TEST_F(SamplesTest, AConvoyIsFollowedToTheThreadThatWorks) {
  // A thread that runs answers a capture's signal only if it gets a processor in time, which a loaded machine
  // may deny it: then the report names the thread, but not its function.
  constexpr int kMaxRuns = 5;
  std::string id;
  std::string report;
  for (int run = 0; run < kMaxRuns && report.find("at Database::Backup") == std::string::npos; ++run) {
    RunSample(LAGWATCH_CONVOY);
    id = NewestReport();
    report = Ask({"report", id});
    EXPECT_THAT(report, ContainsRegex("waits at Database::Query for rwlock 0x[0-9a-f]+ held by "
                                      "thread [0-9]+ \\(backup\\)"));
  }
  EXPECT_THAT(Ask({"reports"}), ContainsRegex("convoy 1.0 +ui +find +Cache::Find "));
  EXPECT_THAT(report,
              ContainsRegex("thread [0-9]+ \\(convoy\\) waits at Cache::Find for mutex 0x[0-9a-f]+ held by "
                            "thread [0-9]+ \\(refill\\) at Database::Query"));
  EXPECT_THAT(
      report,
      ContainsRegex("thread [0-9]+ \\(refill\\) waits at Database::Query for rwlock 0x[0-9a-f]+ held by "
                    "thread [0-9]+ \\(backup\\) at Database::Backup"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("deadlock:")));
  EXPECT_EQ(json::parse(Ask({"report", id, "--json"}))["deadlock"], false);
}

}  // namespace
}  // namespace lagwatch
