// SPDX-License-Identifier: Apache-2.0
// The time that a command of one's own may take. The command is this program.
#include "tools/mcp/own_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;

// Waits for ever, as does its child, which has its pipe.
TEST(OwnOutputChild, DISABLED_NeverEnds) {
  if (fork() != 0) std::ofstream(std::getenv("OWN_OUTPUT_PID")) << getpid() << "\n";
  for (;;) pause();
}

TEST(OwnOutput, EndsACommandThatTakesTooLong) {
  testing::ScopedTempDirectory directory;
  const std::string file = directory / "pid";
  setenv("OWN_OUTPUT_PID", file.c_str(), 1);
  const std::vector<std::string> arguments = {"--gtest_filter=OwnOutputChild.*",
                                              "--gtest_also_run_disabled_tests"};
  const auto output = OutputOfOwn(arguments, 2000);
  ASSERT_FALSE(output.ok());
  EXPECT_THAT(output.status().message(), HasSubstr("it took longer than 2 s"));
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(testing::WaitUntil([&] { return kill(-pid, 0) != 0; })) << "some of its processes are left";
}

TEST(OwnOutput, HasTheOutputOfACommandThatEnds) {
  const auto output = OutputOfOwn({"--gtest_list_tests"}, 60'000);
  ASSERT_TRUE(output.ok()) << output.status().message();
  EXPECT_EQ(output->exit_code, 0);
  EXPECT_THAT(output->text, HasSubstr("DISABLED_NeverEnds"));
}

}  // namespace
}  // namespace lagwatch::tools
