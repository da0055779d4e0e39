// SPDX-License-Identifier: Apache-2.0
// The greatest users of processors, beside a process that computes.
#include "watchdog/facts/processor_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/clock.h"

namespace lagwatch::watchdog {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kName[] = "busy-neighbour";

class ProcessorUsersTest : public ::testing::Test {
 protected:
  ProcessorUsersTest() : child_(fork()) {
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, kName);
    setpriority(PRIO_PROCESS, 0, -20);  // of root alone
    for (volatile bool goes_on = true; goes_on;) {
    }
  }
  ~ProcessorUsersTest() override {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  // Between two looks during which the child uses `used_ns`.
  std::string Describe(int64_t used_ns, bool hides_names = false) {
    const int64_t since_ns = base::SystemClock().MonoNs();
    users_.Begin(since_ns, base::Process::Own());
    const int64_t before_ns = base::Process::Other(child_).CpuNs();
    while (base::Process::Other(child_).CpuNs() - before_ns < used_ns) usleep(10'000);
    return users_.Describe(since_ns, base::Process::Own(), hides_names);
  }

  const pid_t child_;
  ProcessorUsers users_;
};

TEST_F(ProcessorUsersTest, AreNamedWithTheirShares) {
  const std::string text = Describe(200 * base::kNsPerMs);
  EXPECT_THAT(text, HasSubstr(" %"));
  // On a busy machine others may have more than a process that is like them.
  if (getpriority(PRIO_PROCESS, static_cast<id_t>(child_)) == -20) {
    EXPECT_THAT(text, HasSubstr(kName));
  }
  EXPECT_GE(users_.unseen_permille(), 0);
  EXPECT_LE(users_.unseen_permille(), 1000);
}

TEST_F(ProcessorUsersTest, HaveNoNamesWhereTheyAreHidden) {
  const std::string text = Describe(200 * base::kNsPerMs, /*hides_names=*/true);
  EXPECT_THAT(text, HasSubstr("other programs"));
  EXPECT_THAT(text, Not(HasSubstr(kName)));
}

TEST_F(ProcessorUsersTest, AreUnknownWithoutALookOfThatTime) {
  const int64_t since_ns = base::SystemClock().MonoNs();
  EXPECT_STREQ(users_.Describe(since_ns, base::Process::Own(), false), "");
  Describe(50 * base::kNsPerMs);
  const int64_t later_ns = base::SystemClock().MonoNs() + base::kNsPerSecond;
  EXPECT_STREQ(users_.Describe(later_ns, base::Process::Own(), false), "");
}

}  // namespace
}  // namespace lagwatch::watchdog
