// SPDX-License-Identifier: Apache-2.0
// Reports of watched programs, as the command line shows them.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {

class AndroidTest : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  json Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.push_back("--json");
    testing::Process process(question);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return json::parse(process.Output(), nullptr, false);
  }
  // Whole reports from the spool, oldest first.
  std::vector<json> Reports() const {
    std::vector<json> reports;
    for (const json& line : Ask({"reports", "--limit", "1000", "--spool", spool_}))
      reports.insert(reports.begin(), Ask({"report", line["id"], "--spool", spool_}));
    return reports;
  }
  // The first report of this kind with this tag; null if there is none.
  static json Find(const std::vector<json>& reports, const std::string& kind, const std::string& tag) {
    for (const json& report : reports) {
      if (report["kind"] == kind && report["tag"].get<std::string>().find(tag) != std::string::npos)
        return report;
    }
    return nullptr;
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

}  // namespace lagwatch
