// SPDX-License-Identifier: Apache-2.0
// The watchdog's thread never calls malloc or free, from its start to its end.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

using testing::Process;

TEST(MallocProof, HangsOfEveryKindAreReportedWithoutMalloc) {
  testing::ScopedTempDirectory directory;
  Process program({LAGWATCH_MALLOC_PROOF, "lags", directory / "spool", LAGWATCH_EMPTY_PLUGIN});
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output().find("watchdogs 1, reports "), 0u) << program.Output();
}

TEST(MallocProof, HangsOfEveryKindAreSealedWithoutMalloc) {
  testing::ScopedTempDirectory directory;
  Process program({LAGWATCH_MALLOC_PROOF, "sealed", directory / "spool", LAGWATCH_EMPTY_PLUGIN});
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output().find("watchdogs 1, reports "), 0u) << program.Output();
}

TEST(MallocProof, CpuUseIsReportedWithoutMalloc) {
  testing::ScopedTempDirectory directory;
  Process program({LAGWATCH_MALLOC_PROOF, "cpu", directory / "spool"});
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output(), "watchdogs 1\n");
}

TEST(MallocProof, ASinkThatAllocatesDoesNotSurvive) {
  Process program({LAGWATCH_MALLOC_PROOF, "allocating-sink"});
  EXPECT_EQ(program.Wait(), -SIGABRT);
  EXPECT_EQ(program.Output(), "");
}

}  // namespace
}  // namespace lagwatch
