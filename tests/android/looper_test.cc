// SPDX-License-Identifier: Apache-2.0
// AOSP's native Looper, watched from outside and by the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/android/android_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using ::testing::HasSubstr;
using testing::Process;
using testing::WaitUntil;

class LooperTest : public AndroidTest {
 protected:
  static void RunCommands(Process* host, const std::string& commands) {
    ASSERT_TRUE(WaitUntil([&] { return host->Output() == "ready\n"; })) << host->Errors();
    usleep(500'000);  // idle
    host->WriteInput(commands + "quit\n");
    EXPECT_EQ(host->Wait(), 0) << host->Errors();
  }
};

TEST_F(LooperTest, AMessageThatBlocksIsFoundFromOutside) {
  Process host(
      {LAGWATCH_PROGRAM, "run", "--spool", spool_, "--threshold-ms", "200", "--", LAGWATCH_LOOPER_HOST});
  RunCommands(&host, "freeze 600\n");
  const std::vector<json> reports = Reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0]["kind"], "lag");
  EXPECT_GE(reports[0]["duration_ms"], 600);
  EXPECT_THAT(reports[0]["expensive_stack"].dump(), HasSubstr("FreezeHere"));
  EXPECT_THAT(reports[0]["expensive_stack"].dump(), HasSubstr("android::Looper::pollInner"));
}

TEST_F(LooperTest, AMessageThatBlocksIsFoundByTheCInterface) {
  Process host({LAGWATCH_LOOPER_HOST, spool_});
  RunCommands(&host, "freeze 600\n");
  const std::vector<json> reports = Reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0]["tag"], "Worker");
  EXPECT_THAT(reports[0]["expensive_stack"].dump(), HasSubstr("FreezeHere"));
}

TEST_F(LooperTest, ManyShortMessagesAreNoHang) {
  Process host({LAGWATCH_LOOPER_HOST, spool_});
  RunCommands(&host, "burst 200\n");
  EXPECT_TRUE(Reports().empty());
}

}  // namespace
}  // namespace lagwatch
