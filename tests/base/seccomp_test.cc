// SPDX-License-Identifier: Apache-2.0
#include "base/system/seccomp.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/testing/temp_directory.h"

namespace lagwatch::base {
namespace {

SeccompState StateIn(const std::string& status) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "status";
  std::ofstream(path) << status;
  return ReadSeccompOf(path.c_str());
}

TEST(Seccomp, FiltersAreCounted) {
  EXPECT_EQ(StateIn("Name:\ta\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"), (SeccompState{true, 0}));
  EXPECT_EQ(StateIn("Name:\ta\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n"), (SeccompState{true, 3}));
}

TEST(Seccomp, AConfinedProcessHasAFilterWhereTheKernelDoesNotCount) {
  EXPECT_EQ(StateIn("Name:\ta\nSeccomp:\t2\n"), (SeccompState{true, 1}));
  EXPECT_EQ(StateIn("Name:\ta\nSeccomp:\t1\n"), (SeccompState{true, 1}));
}

TEST(Seccomp, NothingIsKnownWithoutAStatus) {
  EXPECT_EQ(StateIn("Name:\ta\n"), SeccompState());
  EXPECT_EQ(ReadSeccompOf("/nonexistent/status"), SeccompState());
}

}  // namespace
}  // namespace lagwatch::base
