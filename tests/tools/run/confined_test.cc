// SPDX-License-Identifier: Apache-2.0
// Programs that confine themselves by a seccomp filter which knows none of lagwatch's calls, or change to
// namespaces which the kernel refuses to a process with several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
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

}  // namespace
}  // namespace lagwatch::tools
