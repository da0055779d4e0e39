// SPDX-License-Identifier: Apache-2.0
// Programs that confine themselves by a seccomp filter which knows none of lagwatch's calls, or change to
// namespaces which the kernel refuses to a process with several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

using testing::Process;
using testing::ScopedTempDirectory;

struct ConfinedCase {
  const char* how;
  size_t reports;  // of the hang that follows

  friend void PrintTo(const ConfinedCase& confined, std::ostream* stream) { *stream << confined.how; }
};

class ConfinedTest : public ::testing::TestWithParam<ConfinedCase> {};

std::pair<int, std::string> RunToEnd(std::vector<std::string> command) {
  Process process(command);
  const int exit_code = process.Wait();
  EXPECT_EQ(process.Errors(), "");
  return {exit_code, process.Output()};
}

TEST_P(ConfinedTest, EndsAsWithoutLagwatch) {
  const ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  const auto bare = RunToEnd({LAGWATCH_CONFINED, GetParam().how, "0"});
  EXPECT_EQ(bare.first, 3);
  for (const char* threads : {"main", "all"}) {
    const auto watched = RunToEnd({LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--threads", threads,
                                   "--spool", spool, "--", LAGWATCH_CONFINED, GetParam().how, "600"});
    EXPECT_EQ(watched, bare) << threads;
  }
  if (GetParam().reports == 0) return;
  const auto reports =
      nlohmann::json::parse(RunToEnd({LAGWATCH_PROGRAM, "reports", "--spool", spool, "--json"}).second);
  EXPECT_EQ(reports.size(), 2 * GetParam().reports) << reports;
}

INSTANTIATE_TEST_SUITE_P(EachWay, ConfinedTest,
                         ::testing::Values(ConfinedCase{"early", 0}, ConfinedCase{"prctl", 0},
                                           ConfinedCase{"seccomp", 0}, ConfinedCase{"all-threads", 0},
                                           ConfinedCase{"forbidding", 0}, ConfinedCase{"by-a-thread", 0},
                                           ConfinedCase{"strict", 0}, ConfinedCase{"asking", 1},
                                           ConfinedCase{"refused", 1}, ConfinedCase{"fork", 1},
                                           ConfinedCase{"vfork", 1}, ConfinedCase{"unshare", 1},
                                           ConfinedCase{"unshare-by-number", 1},
                                           ConfinedCase{"unshare-wrongly", 1}),
                         [](const auto& confined) {
                           std::string name = confined.param.how;
                           std::erase(name, '-');
                           return name;
                         });

// The block of the document that begins with `access brk`.
std::vector<std::string> DocumentedCalls() {
  std::ifstream document(LAGWATCH_CONFIGURATION_DOCUMENT);
  std::vector<std::string> calls;
  for (std::string line; std::getline(document, line);) {
    if (calls.empty() && !line.starts_with("access brk ")) continue;
    if (line == "```") break;
    std::istringstream words(line);
    for (std::string word; words >> word;) calls.push_back(word);
  }
  return calls;
}

TEST(ConfinedListTest, TheDocumentedCallsAreAll) {
  const std::vector<std::string> calls = DocumentedCalls();
  std::vector<std::string> numbers;
  std::ifstream kernel_header(LAGWATCH_KERNEL_HEADER);
  for (std::string line; std::getline(kernel_header, line);) {
    std::istringstream words(line);
    std::string define, name, number;
    if (!(words >> define >> name >> number) || !name.starts_with("__NR_")) continue;
    if (std::ranges::find(calls, name.substr(5)) != calls.end()) numbers.push_back(number);
  }
  ASSERT_EQ(numbers.size(), calls.size());
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {}, {"--threads", "all"}, {"--trace"}, {"--trace", "--trace-hooks"}}) {
    const ScopedTempDirectory directory;
    const std::string spool = directory / "spool";
    std::vector<std::string> command{
        LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--seccomp-allows-lagwatch", "--spool", spool};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"--", LAGWATCH_CONFINED, "all-threads", "600"});
    command.insert(command.end(), numbers.begin(), numbers.end());
    const auto watched = RunToEnd(command);
    EXPECT_EQ(watched.first, 3) << ::testing::PrintToString(options);
    const auto reports =
        nlohmann::json::parse(RunToEnd({LAGWATCH_PROGRAM, "reports", "--spool", spool, "--json"}).second);
    EXPECT_EQ(reports.size(), 1) << ::testing::PrintToString(options);
  }
}

}  // namespace
}  // namespace lagwatch::tools
