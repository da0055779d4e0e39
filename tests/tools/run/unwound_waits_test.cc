// SPDX-License-Identifier: Apache-2.0
// Threads that do not return from a wait that lagwatch stands in front of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

using testing::Process;
using testing::ScopedTempDirectory;

struct Outcome {
  int exit_code;
  std::string output;
  std::string errors;

  bool operator==(const Outcome&) const = default;
  friend void PrintTo(const Outcome& outcome, std::ostream* stream) {
    *stream << "exit code " << outcome.exit_code << "\n" << outcome.output << outcome.errors;
  }
};

Outcome RunToEnd(std::vector<std::string> command) {
  Process process(command);
  const int exit_code = process.Wait();
  return {exit_code, process.Output(), process.Errors()};
}

class UnwoundWaitsTest : public ::testing::TestWithParam<std::vector<std::string>> {
 protected:
  Outcome RunWatched(std::vector<std::string> flags, std::vector<std::string> arguments) const {
    std::vector<std::string> all = {LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--spool", spool_};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", LAGWATCH_UNWOUND_WAITS});
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunToEnd(all);
  }
  nlohmann::json Reports() const {
    return nlohmann::json::parse(RunToEnd({LAGWATCH_PROGRAM, "reports", "--spool", spool_, "--json"}).output);
  }

  ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

TEST_P(UnwoundWaitsTest, CancelledThreadsEndAsWithoutLagwatch) {
  const Outcome bare = RunToEnd({LAGWATCH_UNWOUND_WAITS, "cancel"});
  EXPECT_EQ(bare.exit_code, 3);
  EXPECT_EQ(RunWatched(GetParam(), {"cancel"}), bare);
}

TEST_P(UnwoundWaitsTest, ALoopIsWatchedAfterASignalHandlerHasLeftItsWaits) {
  for (const char* how : {"jump", "throw"}) {
    const Outcome bare = RunToEnd({LAGWATCH_UNWOUND_WAITS, how, "0"});
    EXPECT_EQ(bare.exit_code, 3) << how;
    EXPECT_EQ(RunWatched(GetParam(), {how, "600"}), bare) << how;
  }
  EXPECT_EQ(Reports().size(), 2u) << Reports();
}

TEST_P(UnwoundWaitsTest, TheNextWaitAfterAJumpOutOfAHookBeginsADispatch) {
  EXPECT_EQ(RunWatched(GetParam(), {"storm", "400"}).exit_code, 3);
  EXPECT_EQ(Reports().size(), 12u) << Reports();
}

INSTANTIATE_TEST_SUITE_P(
    EachMode, UnwoundWaitsTest,
    ::testing::Values(std::vector<std::string>{}, std::vector<std::string>{"--threads", "all"},
                      std::vector<std::string>{"--threads", "all", "--trace", "--trace-hooks"}));

}  // namespace
}  // namespace lagwatch::tools
