// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/default_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace lagwatch::sdk {
namespace {

class DefaultPaths : public ::testing::Test {
 protected:
  DefaultPaths() {
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
  }
};

TEST_F(DefaultPaths, TheSpoolIsInTheUsersState) {
  setenv("HOME", "/home/jane", 1);
  EXPECT_EQ(DefaultSpoolDirectory(), "/home/jane/.local/state/lagwatch/spool");
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(DefaultSpoolDirectory(), "/state/lagwatch/spool");
  setenv("XDG_STATE_HOME", "state", 1);
  EXPECT_EQ(DefaultSpoolDirectory(), "/home/jane/.local/state/lagwatch/spool");
}

// Another user could own a directory between the two, and replace the spool.
TEST_F(DefaultPaths, WithoutAHomeTheSpoolIsItselfWhatIsInTheTemporaryDirectory) {
  EXPECT_EQ(DefaultSpoolDirectory(), "/tmp/lagwatch-" + std::to_string(geteuid()));
}

}  // namespace
}  // namespace lagwatch::sdk
