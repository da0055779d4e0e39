// SPDX-License-Identifier: Apache-2.0
// From a frozen program to the collector's answer, with everything real, while things are killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

using nlohmann::json;
using testing::Process;
using testing::WaitUntil;

constexpr char kKey[] = "k_test";
constexpr char kToken[] = "a_test";

class DeliveryTest : public ::testing::Test {
 protected:
  // Starts a collector on the data of the ones before it; at the first start on any free port, then
  // on the same.
  void StartCollector() {
    collector_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_COLLECTOR_PROGRAM, "--listen",
                                                                    address_, "--data", directory_ / "data",
                                                                    "--key", kKey, "--admin-token", kToken});
    const std::string announcement = "listening on http://";
    ASSERT_TRUE(WaitUntil([&] { return collector_->Output().find(announcement) != std::string::npos; }))
        << collector_->Errors();
    std::string output = collector_->Output();
    size_t at = output.find(announcement) + announcement.size();
    address_ = output.substr(at, output.find('\n', at) - at);
  }
  std::string endpoint() const { return "http://" + address_; }

  // Without a key, one that leaves its reports on disk.
  std::unique_ptr<Process> StartFreezer(const std::string& key = kKey) const {
    std::vector<std::string> arguments = {LAGWATCH_FREEZER, spool_};
    if (!key.empty()) arguments.insert(arguments.end(), {endpoint(), key});
    auto freezer = std::make_unique<Process>(arguments);
    EXPECT_TRUE(WaitUntil([&] { return freezer->Output() == "ready\n"; })) << freezer->Errors();
    return freezer;
  }
  // The command line's answer, from the collector or from the spool.
  json Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.push_back("--json");
    Process process(question);
    if (process.Wait() != 0) return json::array();
    return json::parse(process.Output());
  }
  json CollectedReports() const {
    return Ask({"reports", "--limit", "1000", "--endpoint", endpoint(), "--token", kToken});
  }
  json SpooledReports() const { return Ask({"reports", "--limit", "1000", "--spool", spool_}); }
  // Without empty ones, which running programs have open in advance.
  size_t SegmentsLeft() const {
    size_t count = 0;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(spool_)) {
      const bool is_segment = entry.path().extension() == ".seg" || entry.path().extension() == ".open";
      count += is_segment && entry.file_size(gone) > 0 && !gone;
    }
    return count;
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<Process> collector_;
};

TEST_F(DeliveryTest, AHangArrivesWithItsNameAndItsDuration) {
  StartCollector();
  auto freezer = StartFreezer();
  freezer->WriteInput("freeze 500\nquit\n");
  EXPECT_EQ(freezer->Wait(), 0);
  json reports = CollectedReports();
  ASSERT_GE(reports.size(), 1u);
  EXPECT_EQ(reports[0]["ended"], true);
  json report = Ask({"report", reports[0]["id"], "--endpoint", endpoint(), "--token", kToken});
  // On a machine that is too busy nothing of the process may have run for a while.
  EXPECT_GE(report["duration_ms"].get<int>() + report["guard"]["stopped_ms"].get<int>(), 500);
  json clusters = Ask({"clusters", "--endpoint", endpoint(), "--token", kToken});
  ASSERT_GE(clusters.size(), 1u);
  bool names_the_culprit = std::any_of(clusters.begin(), clusters.end(), [](const json& cluster) {
    return cluster["frames"].dump().find("FreezeHere") != std::string::npos;
  });
  EXPECT_TRUE(names_the_culprit) << clusters;
  EXPECT_EQ(SegmentsLeft(), 0u);
}

TEST_F(DeliveryTest, AHangIsToldPerHourOfUse) {
  StartCollector();
  for (const char* commands : {"freeze 500\nquit\n", "quit\n"}) {
    auto freezer = StartFreezer();
    usleep(200'000);  // of use
    freezer->WriteInput(commands);
    EXPECT_EQ(freezer->Wait(), 0);
  }
  json usage = Ask({"usage", "--endpoint", endpoint(), "--token", kToken});
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0]["app"], "freezer");
  EXPECT_EQ(usage[0]["version"], "1");
  EXPECT_EQ(usage[0]["users"], 1);
  EXPECT_EQ(usage[0]["runs"], 2);
  EXPECT_EQ(usage[0]["dispatches"], 1);
  EXPECT_EQ(usage[0]["hangs"], 1);
  double watched_ms = usage[0]["watched_ms"];
  double hang_ms = usage[0]["hang_ms"];
  EXPECT_GE(watched_ms, hang_ms);
  json reports = CollectedReports();
  ASSERT_GE(reports.size(), 1u);
  EXPECT_NEAR(hang_ms, reports[0]["duration_ms"].get<double>(), 0.01);
  EXPECT_NEAR(usage[0]["hang_ms_per_hour"]["p50"].get<double>(), hang_ms / watched_ms * 3'600'000,
              20);  // of rounded times
  Process table({LAGWATCH_PROGRAM, "usage", "--endpoint", endpoint(), "--token", kToken});
  EXPECT_EQ(table.Wait(), 0);
  EXPECT_THAT(table.Output(), ::testing::HasSubstr("freezer"));
}

TEST_F(DeliveryTest, AHangIsToldPerHourOfAnExperiment) {
  StartCollector();
  auto freezer = StartFreezer();
  freezer->WriteInput("try old freeze 10 try new freeze 500\nquit\n");
  EXPECT_EQ(freezer->Wait(), 0);
  const auto ask = [&](const std::string& key) {
    return Ask({"usage", "--key", key, "--endpoint", endpoint(), "--token", kToken});
  };
  EXPECT_TRUE(ask("scene").empty());
  const json values = ask("experiment");
  const auto in_new = std::ranges::find_if(values, [](const json& each) { return each["value"] == "new"; });
  ASSERT_NE(in_new, values.end()) << values;
  EXPECT_EQ((*in_new)["app"], "freezer");
  EXPECT_EQ((*in_new)["users"], 1);
  EXPECT_EQ((*in_new)["hangs"], 1);
  EXPECT_GE((*in_new)["hang_ms"].get<double>(), 300);
  EXPECT_GT((*in_new)["hang_ms_per_hour"]["all"].get<double>(), 0);
  for (const json& each : values) EXPECT_TRUE(each == *in_new || each["hangs"] == 0) << each;
}

TEST_F(DeliveryTest, AProgramKilledInAHangHasItsUse) {
  auto freezer = StartFreezer("");
  freezer->WriteInput("hang\n");
  ASSERT_TRUE(WaitUntil([&] { return !SpooledReports().empty(); }));
  sleep(3);  // the run's record has news of use within two seconds and a half
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  auto expect_use = [&] {
    json usage = Ask({"usage", "--spool", spool_});
    ASSERT_EQ(usage.size(), 1u);
    EXPECT_EQ(usage[0]["hangs"], 1);
    EXPECT_EQ(usage[0]["dispatches"], 0);
    EXPECT_GE(usage[0]["hang_ms"].get<double>(), 500);
    EXPECT_GE(usage[0]["watched_ms"].get<double>(), 1000);
  };
  expect_use();  // by the run's record
  auto next_start = StartFreezer("");
  expect_use();
  next_start->WriteInput("quit\n");
  EXPECT_EQ(next_start->Wait(), 0);
}

TEST_F(DeliveryTest, AProgramMayEndAtAnyMoment) {
  for (int i = 0; i < 10; ++i) {
    Process freezer({LAGWATCH_FREEZER, spool_});
    freezer.WriteInput("freeze " + std::to_string(80 + 10 * i) + "\nexit\n");
    EXPECT_EQ(freezer.Wait(), 0) << freezer.Errors();
    EXPECT_EQ(freezer.Errors(), "");
  }
}

TEST_F(DeliveryTest, AProgramKilledInAHangLosesNothing) {
  StartCollector();
  collector_->Signal(SIGKILL);
  EXPECT_EQ(collector_->Wait(), -SIGKILL);
  auto freezer = StartFreezer();
  freezer->WriteInput("hang\n");
  ASSERT_TRUE(WaitUntil([&] { return !SpooledReports().empty(); }));
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  json spooled = SpooledReports();

  StartCollector();
  EXPECT_TRUE(CollectedReports().empty());
  auto next_start = StartFreezer();
  ASSERT_TRUE(WaitUntil([&] { return CollectedReports().size() == spooled.size(); }));
  next_start->WriteInput("quit\n");
  EXPECT_EQ(next_start->Wait(), 0);
  json collected = CollectedReports();
  EXPECT_EQ(collected[0]["id"], spooled[0]["id"]);
  EXPECT_EQ(SegmentsLeft(), 0u);
}

// A program's record of the run before it: "reason, signal …".
class RunEndTest : public DeliveryTest {
 protected:
  std::string LastExit() const {
    Process next({LAGWATCH_FREEZER, spool_});
    next.WriteInput("last\nquit\n");
    EXPECT_EQ(next.Wait(), 0);
    std::string output = next.Output();
    size_t at = output.find("last ");
    return output.substr(at, output.find('\n', at) - at);
  }
  size_t RunRecords() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(spool_ + "/runs")) ++count;
    return count;
  }
};

TEST_F(RunEndTest, AProgramKilledInAHangIsToldSoAtItsNextStart) {
  auto freezer = StartFreezer("");
  freezer->WriteInput("scene export\nhang\n");
  ASSERT_TRUE(WaitUntil([&] { return !SpooledReports().empty(); }));
  std::string id = SpooledReports().back()["hang_id"];
  double age_ms = SpooledReports().back()["duration_ms"];
  usleep(500'000);  // the hang goes on, its stack is the same
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  EXPECT_EQ(SpooledReports().back()["kind"], "lag");

  StartCollector();
  auto next = StartFreezer();
  next->WriteInput("last\nquit\n");
  EXPECT_EQ(next->Wait(), 0);
  EXPECT_THAT(next->Output(), ::testing::HasSubstr("last 2 signal 0 lag 1 "));
  EXPECT_THAT(next->Output(), ::testing::HasSubstr("loop 'main' scene 'export' report " + id));
  json reports = CollectedReports();
  ASSERT_GE(reports.size(), 1u);
  for (const json& report : reports) {
    EXPECT_EQ(report["kind"], "killed-in-hang");
    EXPECT_EQ(report["hang_id"], id);
    EXPECT_EQ(report["ended"], true);
    EXPECT_GT(report["duration_ms"], age_ms);  // from the run's record, not from the report
  }
  EXPECT_EQ(RunRecords(), 1u);  // of the run that has just ended
}

TEST_F(RunEndTest, TheSpoolAloneTellsItToo) {
  auto freezer = StartFreezer("");
  freezer->WriteInput("hang\n");
  ASSERT_TRUE(WaitUntil([&] { return !SpooledReports().empty(); }));
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  LastExit();
  EXPECT_EQ(SpooledReports().back()["kind"], "killed-in-hang");
}

TEST_F(RunEndTest, AProgramKilledOutsideAHangVanishedForNoKnownReason) {
  auto freezer = StartFreezer("");
  freezer->WriteInput("freeze 300\n");
  ASSERT_TRUE(WaitUntil([&] {
    json reports = SpooledReports();
    return !reports.empty() && reports[0]["ended"] == true;
  }));
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  EXPECT_THAT(LastExit(), ::testing::StartsWith("last 0 signal 0 lag 0 0 loop ''"));
  json reports = SpooledReports();
  EXPECT_TRUE(std::all_of(reports.begin(), reports.end(),
                          [](const json& report) { return report["kind"] == "lag"; }));
}

TEST_F(RunEndTest, AProgramThatEndsByItselfEndedWell) {
  EXPECT_EQ(LastExit(), "last none");
  EXPECT_THAT(LastExit(), ::testing::StartsWith("last 1 signal 0 lag 0"));  // it called lw_stop()
  Process freezer({LAGWATCH_FREEZER, spool_});
  freezer.WriteInput("exit\n");  // and it does not
  EXPECT_EQ(freezer.Wait(), 0);
  EXPECT_THAT(LastExit(), ::testing::StartsWith("last 1 signal 0"));
  EXPECT_EQ(RunRecords(), 1u);
}

TEST_F(RunEndTest, ACrashInAHangIsACrashInAHang) {
  Process freezer({LAGWATCH_FREEZER, spool_});
  freezer.WriteInput("crash 500\n");
  EXPECT_EQ(freezer.Wait(), -SIGSEGV);
  EXPECT_THAT(LastExit(), ::testing::StartsWith("last 8 signal " + std::to_string(SIGSEGV) + " lag 1 "));
  EXPECT_EQ(SpooledReports().back()["kind"], "lag");
}

TEST_F(RunEndTest, AProgramThatWasToldToStopWasStopped) {
  auto freezer = StartFreezer("");
  freezer->WriteInput("stop\nlast\n");
  ASSERT_TRUE(WaitUntil([&] { return freezer->Output().find("last none\n") != std::string::npos; }));
  freezer->Signal(SIGTERM);
  EXPECT_EQ(freezer->Wait(), -SIGTERM);
  EXPECT_THAT(LastExit(), ::testing::StartsWith("last 7 signal 0 lag 0"));
}

TEST_F(RunEndTest, AForkedChildsEndIsNotItsParents) {
  auto freezer = StartFreezer("");
  freezer->WriteInput("fork\n");
  ASSERT_TRUE(WaitUntil([&] { return freezer->Output().find("forked\n") != std::string::npos; }));
  EXPECT_EQ(LastExit(), "last none");  // the parent lives
  freezer->WriteInput("hang\n");
  ASSERT_TRUE(WaitUntil([&] { return !SpooledReports().empty(); }));
  freezer->Signal(SIGKILL);
  EXPECT_EQ(freezer->Wait(), -SIGKILL);
  // The child of the fork has marked nothing; of two runs, the one that began later is the last.
  EXPECT_THAT(LastExit(), ::testing::StartsWith("last 1 "));
  EXPECT_EQ(SpooledReports().back()["kind"], "killed-in-hang");
}

TEST_F(DeliveryTest, ACollectorThatIsKilledAgainAndAgainLosesNothing) {
  StartCollector();
  auto freezer = StartFreezer();
  for (int kills = 0; kills < 3; ++kills) {
    freezer->WriteInput("freeze 400\nfreeze 400\nfreeze 400\n");
    ASSERT_TRUE(WaitUntil([&] {
      std::string output = freezer->Output();
      return std::count(output.begin(), output.end(), 't') >= 3 * (kills + 1);  // "thawed"
    }));
    collector_->Signal(SIGKILL);
    EXPECT_EQ(collector_->Wait(), -SIGKILL);
    StartCollector();
  }
  freezer->WriteInput("quit\n");
  EXPECT_EQ(freezer->Wait(), 0);
  std::string output = freezer->Output();
  size_t written = std::stoul(output.substr(output.rfind(' ') + 1));
  EXPECT_GE(written, 9u);

  Process upload({LAGWATCH_PROGRAM, "upload", "--spool", spool_, "--endpoint", endpoint(), "--key", kKey});
  EXPECT_EQ(upload.Wait(), 0) << upload.Errors();
  json collected = CollectedReports();
  EXPECT_EQ(collected.size(), written);
  EXPECT_TRUE(
      std::all_of(collected.begin(), collected.end(), [](const json& report) { return report["ended"]; }));
  EXPECT_EQ(SegmentsLeft(), 0u);
}

TEST_F(DeliveryTest, ASpoolThatIsNotThereIsNotSent) {
  StartCollector();
  const std::string typo = directory_ / "spoool";
  Process upload({LAGWATCH_PROGRAM, "upload", "--spool", typo, "--endpoint", endpoint(), "--key", kKey});
  EXPECT_EQ(upload.Wait(), 1);
  EXPECT_EQ(upload.Errors(), "lagwatch: there is no spool directory " + typo + "\n");
}

TEST_F(DeliveryTest, SendingTwiceStoresOnce) {
  StartCollector();
  Process offline({LAGWATCH_FREEZER, spool_});
  offline.WriteInput("freeze 300\nquit\n");
  EXPECT_EQ(offline.Wait(), 0);
  std::filesystem::copy(spool_, directory_ / "copy");
  for (const std::string& spool : {spool_, directory_ / "copy"}) {
    Process upload({LAGWATCH_PROGRAM, "upload", "--spool", spool, "--endpoint", endpoint(), "--key", kKey});
    EXPECT_EQ(upload.Wait(), 0) << upload.Errors();
  }
  json reports = CollectedReports();
  std::vector<std::string> ids;
  for (const json& report : reports) ids.push_back(report["id"]);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_GE(ids.size(), 1u);
}

TEST_F(DeliveryTest, AWrongKeyKeepsTheReportsForARightOne) {
  StartCollector();
  auto freezer = StartFreezer("k_wrong");
  freezer->WriteInput("freeze 300\nquit\n");
  EXPECT_EQ(freezer->Wait(), 0);
  EXPECT_TRUE(CollectedReports().empty());
  size_t waiting = SegmentsLeft();
  EXPECT_GE(waiting, 1u);

  Process wrong({LAGWATCH_PROGRAM, "upload", "--timeout-s", "1", "--spool", spool_, "--endpoint", endpoint(),
                 "--key", "k_wrong"});
  EXPECT_EQ(wrong.Wait(), 1);
  EXPECT_THAT(wrong.Errors(), ::testing::HasSubstr("key"));
  EXPECT_EQ(SegmentsLeft(), waiting);

  Process right({LAGWATCH_PROGRAM, "upload", "--spool", spool_, "--endpoint", endpoint(), "--key", kKey});
  EXPECT_EQ(right.Wait(), 0) << right.Errors();
  EXPECT_GE(CollectedReports().size(), 1u);
  EXPECT_EQ(SegmentsLeft(), 0u);
}

#if defined(LAGWATCH_WAIT_LOOP)
TEST_F(DeliveryTest, AWatchedProgramKilledInAHangIsReportedAtOnce) {
  StartCollector();
  Process watched({LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--spool", spool_, "--endpoint",
                   endpoint(), "--key", kKey, "--", LAGWATCH_WAIT_LOOP, "poll", "3600000"});
  ASSERT_TRUE(WaitUntil([&] { return !SpooledReports().empty() || !CollectedReports().empty(); }));
  watched.Signal(SIGKILL);
  EXPECT_EQ(watched.Wait(), -SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return CollectedReports().size() == 1 && SegmentsLeft() == 0; }));
}
#endif

}  // namespace
}  // namespace lagwatch
