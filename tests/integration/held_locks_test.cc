// SPDX-License-Identifier: Apache-2.0
// The watchdog's path takes no lock that the program may hold: in each case the report is on disk while the
// lock is held and the main thread waits for it, and the program ends as it should once it is released.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

using nlohmann::json;
using testing::Process;
using testing::WaitUntil;

class HeldLocksTest : public ::testing::Test {
 protected:
  json SpooledReports() const {
    Process process({LAGWATCH_PROGRAM, "reports", "--json", "--spool", spool_});
    return process.Wait() == 0 ? json::parse(process.Output()) : json::array();
  }
  void ExpectReportWhileHeld(std::vector<std::string> case_and_plugin,
                             std::vector<std::string> environment = {}) {
    std::vector<std::string> arguments = {LAGWATCH_LOCK_HOLDER, spool_};
    arguments.insert(arguments.end(), case_and_plugin.begin(), case_and_plugin.end());
    Process program(arguments, environment);
    ASSERT_TRUE(WaitUntil([&] { return program.Output() == "held\n"; })) << program.Errors();
    EXPECT_TRUE(WaitUntil([&] { return !SpooledReports().empty(); }));
    EXPECT_EQ(program.Output(), "held\n");  // so the main thread waits for the lock to this moment
    program.WriteInput("x");
    EXPECT_EQ(program.Wait(), 0) << program.Errors();
    EXPECT_NE(program.Output().find("through\n"), std::string::npos);
    EXPECT_EQ(program.Errors(), "");
    json reports = SpooledReports();
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports[0]["tag"], case_and_plugin[0]);
    EXPECT_EQ(reports[0]["ended"], true);
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

// A sanitizer's malloc has other locks, which nothing can be made to hold.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(HeldLocksTest, AReportIsWrittenWhileMallocIsLocked) {
  ExpectReportWhileHeld({"malloc"}, {"MALLOC_ARENA_MAX=1", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0"});
}
#endif

TEST_F(HeldLocksTest, AReportIsWrittenWhileALibraryIsLoaded) {
  ExpectReportWhileHeld({"dlopen", LAGWATCH_LOCK_HOLDER_PLUGIN});
}

TEST_F(HeldLocksTest, AReportIsWrittenWhileStreamsAreLocked) { ExpectReportWhileHeld({"stdio"}); }

TEST_F(HeldLocksTest, AReportIsWrittenWhileAForkIsHeldUpBeforeOurHandler) {
  ExpectReportWhileHeld({"fork-first"});
}

TEST_F(HeldLocksTest, AReportIsWrittenWhileAForkIsHeldUpAfterOurHandler) {
  ExpectReportWhileHeld({"fork-last"});
}

TEST_F(HeldLocksTest, AReportIsWrittenWhileAForkIsHeldUpAtItsEnd) { ExpectReportWhileHeld({"fork-parent"}); }

// The thread sanitizer holds locks of its own during a fork, which another fork waits for.
#ifndef __SANITIZE_THREAD__
TEST_F(HeldLocksTest, AForkGoesThroughWhileAnotherThreadsForkIsHeldUp) {
  Process program({LAGWATCH_LOCK_HOLDER, spool_, "fork-other"});
  EXPECT_TRUE(WaitUntil([&] { return program.Output() == "held\nthrough\n"; })) << program.Output();
  program.WriteInput("x");
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Errors(), "");
}
#endif

}  // namespace
}  // namespace lagwatch
