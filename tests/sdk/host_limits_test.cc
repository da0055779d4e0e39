// SPDX-License-Identifier: Apache-2.0
#include "sdk/host_limits.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace lagwatch::sdk {
namespace {

constexpr bool kIsTraced = true;
constexpr bool kIsAllowed = true;

// In a process of its own, which the checks' subject changes for good.
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

bool Confine() {
  sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  sock_fprog program{1, &allow};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool Limit(__rlimit_resource resource, rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  return setrlimit(resource, &limit) == 0;
}

TEST(HostLimits, AFilterOfItsOwnTurnsAProcessOffUnlessItAllowsLagwatch) {
  EXPECT_TRUE(HoldsInChild([] {
    return CheckCanRunHere(!kIsTraced, !kIsAllowed).ok() && Confine() &&
           CheckCanRunHere(!kIsTraced, !kIsAllowed).message().find("seccomp") != std::string::npos &&
           CheckCanRunHere(!kIsTraced, kIsAllowed).ok();
  }));
}

TEST(HostLimits, LittleAddressSpaceTurnsAProcessOff) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer takes all the addresses that there are";
#endif
  EXPECT_TRUE(HoldsInChild([] {
    return Limit(RLIMIT_AS, rlim_t{2} << 30) && CheckCanRunHere(kIsTraced, !kIsAllowed).ok() &&
           Limit(RLIMIT_AS, rlim_t{100} << 20) && !CheckCanRunHere(!kIsTraced, !kIsAllowed).ok();
  }));
  EXPECT_TRUE(HoldsInChild([] {
    return Limit(RLIMIT_DATA, rlim_t{150} << 20) && CheckCanRunHere(!kIsTraced, !kIsAllowed).ok() &&
           !CheckCanRunHere(kIsTraced, !kIsAllowed).ok() && Limit(RLIMIT_DATA, rlim_t{20} << 20) &&
           !CheckCanRunHere(!kIsTraced, !kIsAllowed).ok();
  }));
}

}  // namespace
}  // namespace lagwatch::sdk
