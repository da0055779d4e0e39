// SPDX-License-Identifier: Apache-2.0
// From a stripped program's freeze to its source line, with everything real: the report comes first,
// the symbols later.
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Process;
using testing::WaitUntil;

class SymbolsDelivery : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string announcement = "listening on ";
    ASSERT_TRUE(WaitUntil([&] { return collector_.Output().ends_with('\n'); })) << collector_.Errors();
    endpoint_ = collector_.Output();
    endpoint_ = endpoint_.substr(endpoint_.find(announcement) + announcement.size());
    endpoint_.pop_back();
  }

  std::string Tell(std::vector<std::string> words) {
    words.insert(words.begin(), LAGWATCH_PROGRAM);
    words.insert(words.end(), {"--endpoint", endpoint_, "--token", "a_test"});
    Process process(words);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return process.Output();
  }
  json Ask(std::vector<std::string> words) {
    words.push_back("--json");
    return json::parse(Tell(words));
  }

  testing::ScopedTempDirectory directory_;
  Process collector_{{LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", directory_ / "data",
                      "--key", "k_test", "--admin-token", "a_test"}};
  std::string endpoint_;
};

TEST_F(SymbolsDelivery, AStrippedProgramsReportFindsItsSourceAndItsClusterFollows) {
  Process shipped({LAGWATCH_SHIPPED ".stripped", directory_ / "spool", endpoint_, "k_test"});
  ASSERT_EQ(shipped.Wait(), 0) << shipped.Errors();
  const json unnamed = Ask({"clusters"});
  ASSERT_EQ(unnamed.size(), 1u) << collector_.Errors();
  EXPECT_THAT(unnamed[0]["frames"][0].get<std::string>(), HasSubstr("shipped.stripped+0x"));

  Tell({"symbols", "upload", LAGWATCH_SHIPPED ".debug"});
  json named;
  ASSERT_TRUE(WaitUntil([&] {
    named = Ask({"clusters"});
    return named.size() == 1 && named[0]["key"] != unnamed[0]["key"];
  })) << named
      << collector_.Errors();
  EXPECT_THAT(named[0]["frames"], ElementsAre("search::ScanPostings", "search::RebuildIndex"));
  EXPECT_EQ(named[0]["hang_ms"], unnamed[0]["hang_ms"]);
  EXPECT_EQ(named[0]["users"], 1);

  const std::string id = Ask({"reports"})[0]["id"];
  const json stack = Ask({"report", id})["expensive_stack"];
  size_t scan = 0;
  while (scan < stack.size() && stack[scan]["function"] != "search::ScanPostings") ++scan;
  ASSERT_LT(scan + 1, stack.size()) << stack.dump(1);
  EXPECT_EQ(stack[scan]["inlined"], true);
  EXPECT_THAT(stack[scan]["file"].get<std::string>(), HasSubstr("/shipped.cc"));
  EXPECT_GT(stack[scan]["line"], 10);
  EXPECT_EQ(stack[scan + 1]["function"], "search::RebuildIndex");
  EXPECT_EQ(stack[scan + 1]["inlined"], false);
  EXPECT_GT(stack[scan + 1]["line"], stack[scan]["line"]);
}

}  // namespace
}  // namespace lagwatch
