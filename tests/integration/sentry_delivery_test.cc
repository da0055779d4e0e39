// SPDX-License-Identifier: Apache-2.0
// From a frozen program, as Sentry's events, to a server that takes these, with everything real.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
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

class SentryDeliveryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    collector_ = std::make_unique<Process>(
        std::vector<std::string>{LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data",
                                 directory_ / "data", "--key", kKey, "--admin-token", kToken});
    const std::string announcement = "listening on http://";
    ASSERT_TRUE(WaitUntil([&] { return collector_->Output().ends_with('\n'); })) << collector_->Errors();
    const std::string output = collector_->Output();
    address_ = output.substr(output.find(announcement) + announcement.size());
    address_.pop_back();
  }
  std::string dsn() const { return std::string("sentry:http://") + kKey + "@" + address_ + "/1"; }

  // A program that freezes once and ends; what it could not send stays in its spool directory.
  void Freeze(const std::vector<std::string>& destination, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> arguments = {LAGWATCH_FREEZER, spool_};
    arguments.insert(arguments.end(), destination.begin(), destination.end());
    Process freezer(arguments, environment);
    ASSERT_TRUE(WaitUntil([&] { return freezer.Output() == "ready\n"; })) << freezer.Errors();
    freezer.WriteInput("freeze 500\nquit\n");
    ASSERT_EQ(freezer.Wait(), 0) << freezer.Errors();
  }
  json Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.insert(question.end(), {"--endpoint", "http://" + address_, "--token", kToken, "--json"});
    Process process(question);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return json::parse(process.Output());
  }
  size_t CountFiles(const std::string& extension) const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(spool_))
      count += entry.path().extension() == extension;
    return count;
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  std::string address_;
  std::unique_ptr<Process> collector_;
};

TEST_F(SentryDeliveryTest, AHangArrivesWithTheFramesThatItFrozeIn) {
  Freeze({dsn(), ""});
  const json sent = Ask({"reports"});
  ASSERT_GE(sent.size(), 1u);
  const json report = Ask({"report", sent[0]["id"]});
  EXPECT_EQ(report["app"], "freezer");
  EXPECT_EQ(report["version"], "1");
  EXPECT_EQ(report["user"], "u-1");
  EXPECT_TRUE(report["facts"].contains("sentry_event"));
  EXPECT_NE(report["expensive_stack"][0]["function"].get<std::string>().find("FreezeHere"),
            std::string::npos);
  EXPECT_FALSE(report["expensive_stack"][0]["build_id"].get<std::string>().empty());
  EXPECT_EQ(CountFiles(".seg") + CountFiles(".rejected"), 0u);

  Freeze({"http://" + address_, kKey});  // the way that reports go else
  const json clusters = Ask({"clusters"});
  ASSERT_EQ(clusters.size(), 1u) << clusters;
  EXPECT_GE(clusters[0]["reports"], 2);
}

TEST_F(SentryDeliveryTest, WhatWaitsOnDiskIsSentByTheCommandLine) {
  Freeze({});
  ASSERT_GE(CountFiles(".seg"), 1u);
  Process upload({LAGWATCH_PROGRAM, "upload", "--spool", spool_, "--endpoint", dsn()});
  EXPECT_EQ(upload.Wait(), 0) << upload.Errors();
  const json sent = Ask({"reports"});
  ASSERT_GE(sent.size(), 1u);
  EXPECT_EQ(sent[0]["ended"], true);
  EXPECT_GE(sent[0]["duration_ms"].get<double>(), 500 - 1);
  EXPECT_EQ(CountFiles(".seg"), 0u);
}

TEST_F(SentryDeliveryTest, SealedReportsStayAtHome) {
  Process printer({LAGWATCH_COLLECTOR_PROGRAM, "--data", directory_ / "data", "--print-seal-key"});
  ASSERT_EQ(printer.Wait(), 0) << printer.Errors();
  Freeze({dsn(), ""}, {"FREEZER_SEAL_KEY=" + printer.Output().substr(0, 64)});
  EXPECT_EQ(Ask({"reports"}), json::array());
  EXPECT_GE(CountFiles(".rejected"), 1u);
}

}  // namespace
}  // namespace lagwatch
