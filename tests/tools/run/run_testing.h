// SPDX-License-Identifier: Apache-2.0
// Programs run by `lagwatch run`, and what it has found.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {

using nlohmann::json;
using testing::Process;

class RunTest : public ::testing::Test {
 protected:
  std::vector<std::string> Watched(std::vector<std::string> command,
                                   std::vector<std::string> flags = {}) const {
    std::vector<std::string> all = {LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--spool", spool_};
    all.insert(all.end(), flags.begin(), flags.end());
    all.push_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }
  json Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.insert(question.end(), {"--spool", spool_, "--json"});
    Process process(question);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return json::parse(process.Output());
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

}  // namespace lagwatch::tools
