// SPDX-License-Identifier: Apache-2.0
// From a program that uses too much CPU to what people and programs read of it, with everything real.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::Process;
using testing::WaitUntil;

class CpuUseTest : public ::testing::Test {
 protected:
  std::string Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.insert(question.end(), {"--spool", spool_});
    Process process(question);
    return process.Wait() == 0 ? process.Output() : "";
  }
  json Reports(const std::string& kind) const {
    json found = json::array();
    const std::string answer = Ask({"reports", "--limit", "1000", "--json"});
    if (answer.empty()) return found;
    for (const json& report : json::parse(answer)) {
      if (report["kind"] == kind) found.push_back(report);
    }
    return found;
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

TEST_F(CpuUseTest, IsToldWithItsThreadsAndATreeOfWhereItWent) {
  Process burner({LAGWATCH_BURNER, spool_});
  ASSERT_TRUE(WaitUntil([&] { return !Reports("cpu").empty() && !Reports("cpu-average").empty(); }))
      << burner.Errors();
  burner.Signal(SIGKILL);  // reports are on disk
  EXPECT_EQ(burner.Wait(), -SIGKILL);

  const std::string now = Ask({"report", Reports("cpu")[0]["id"]});
  EXPECT_THAT(now, HasSubstr("\n  kind     cpu\n"));
  EXPECT_THAT(now, HasSubstr("\nBusiest threads\n"));
  EXPECT_THAT(now, HasSubstr(" burner  "));
  EXPECT_THAT(now, HasSubstr("BurnUntil"));

  const std::string id = Reports("cpu-average")[0]["id"];
  const std::string average = Ask({"report", id});
  EXPECT_THAT(average, HasSubstr(", in the background\n"));
  EXPECT_THAT(average, HasSubstr("\nCPU time by call (innermost functions first)\n"));
  const json report = json::parse(Ask({"report", id, "--json"}));
  EXPECT_EQ(report["facts"]["limit_percent"], 1);
  EXPECT_EQ(report["facts"]["foreground"], 0);
  EXPECT_THAT(report["power_tree"].dump(), HasSubstr("BurnUntil"));
  EXPECT_GE(report["cpu"]["window_ms"], 2000);

  for (const json& cluster : json::parse(Ask({"clusters", "--json"}))) EXPECT_EQ(cluster["hangs"], 0);
}

}  // namespace
}  // namespace lagwatch
