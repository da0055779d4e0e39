// SPDX-License-Identifier: Apache-2.0
#include "base/system/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "base/process/quiet_thread.h"

namespace lagwatch::base {
namespace {

struct Environment {
  int traps = fegetexcept();
  int flags = std::fetestexcept(FE_ALL_EXCEPT);
  int rounding = std::fegetround();
  bool operator==(const Environment&) const = default;
};

// Sets what a program may set, on the test's thread.
class FloatEnvironmentTest : public ::testing::Test {
 protected:
  FloatEnvironmentTest() {
    std::fesetround(FE_UPWARD);
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(FE_UNDERFLOW);
    feenableexcept(FE_INEXACT | FE_DIVBYZERO);
  }
  ~FloatEnvironmentTest() override { std::fesetenv(FE_DFL_ENV); }
};

// Sets every flag, and ends the process where that is trapped.
void Compute() {
  volatile double zero = 0;
  volatile double three = 3;
  volatile double result = 1 / three;
  result = 1 / zero;
  result = result - result;
  volatile long double wide = 1 / static_cast<long double>(three);
  static_cast<void>(wide);
}

TEST_F(FloatEnvironmentTest, IsTheDefaultInAScopeAndAsItWasAfterIt) {
  const Environment before;
  Environment within;
  {
    const ScopedFloatEnvironment floats;
    within = Environment();
    Compute();
  }
  EXPECT_EQ(Environment(), before);
  EXPECT_EQ(within.traps, 0);
  EXPECT_EQ(within.flags, 0);
  EXPECT_EQ(within.rounding, FE_TONEAREST);
}

TEST_F(FloatEnvironmentTest, IsTheDefaultInAThreadOfOurs) {
  Environment within;
  QuietThread thread;
  ASSERT_TRUE(thread
                  .Start(
                      "test", 256 * 1024,
                      [](void* environment) {
                        *static_cast<Environment*>(environment) = Environment();
                        Compute();
                      },
                      &within)
                  .ok());
  ASSERT_TRUE(thread.TryJoin(Sleeper::kForever));
  EXPECT_EQ(within.traps, 0);
  EXPECT_EQ(within.flags, 0);
  EXPECT_EQ(within.rounding, FE_TONEAREST);
}

}  // namespace
}  // namespace lagwatch::base
