// SPDX-License-Identifier: Apache-2.0
// Names of functions of programs whose file was deleted while they run, or is in another mount namespace: the
// reports are read when the program has ended.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/watch/watch_testing.h"

namespace lagwatch::tools {
namespace {

class GoneFilesTest : public WatchTest {
 protected:
  std::string CopyOf(const char* program) const {
    std::string copy = directory_ / "program_gone";
    std::filesystem::copy(program, copy);
    return copy;
  }
};

TEST_F(GoneFilesTest, WatchNamesADeletedProgram) {
  const std::string program = CopyOf(LAGWATCH_WATCHED_PROGRAM);
  while_running_ = [&](Process&) { std::filesystem::remove(program); };
  ExpectOne(Reports({program, "sleeps"}), "SleepInHandler");
}

TEST_F(GoneFilesTest, WatchNamesAProgramOfAnotherMountNamespace) {
  if (!HasTracepoints()) GTEST_SKIP() << "only root may mount there";
  const std::string folder = directory_ / "mounted";
  std::filesystem::create_directory(folder);
  const std::string script = "mount -t tmpfs none " + folder + " && cp " + LAGWATCH_WATCHED_PROGRAM + " " +
                             folder + "/program && exec " + folder + "/program sleeps";
  ExpectOne(Reports({"unshare", "--mount", "sh", "-c", script}), "SleepInHandler");
}

TEST_F(GoneFilesTest, RunNamesADeletedProgram) {
  const std::string copy = CopyOf(LAGWATCH_WATCHED_SHARED_PROGRAM);
  Process program(Watched({copy, "sleeps"}));
  ASSERT_TRUE(testing::WaitUntil([&] { return program.Output().starts_with("begun"); }));
  std::filesystem::remove(copy);
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  const json headers = Ask({"reports"});
  ASSERT_EQ(headers.size(), 1u) << headers.dump(1);
  const json stack = Ask({"report", headers.at(0).at("id")}).at("expensive_stack");
  EXPECT_NE(stack.dump().find("SleepInHandler"), std::string::npos) << stack.dump(1);
  EXPECT_NE(stack.dump().find("\"main\""), std::string::npos) << stack.dump(1);
}

}  // namespace
}  // namespace lagwatch::tools
