// SPDX-License-Identifier: Apache-2.0
// Programs that lock their memory: lagwatch's reserves must be neither filled nor counted.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <iostream>

#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

// A field of /proc/self/status, in KiB.
int64_t StatusKib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));
  return -1;
}

class LockedMemoryTest : public SdkTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's memory is not to be locked, or it ignores mlockall(2)";
#endif
  }
  // Without a thread of the test's, whose stack would be locked, too.
  void FreezeUntilSeen(const Loop& loop) const {
    ScopedDispatch dispatch(loop, "freeze");
    EXPECT_TRUE(testing::WaitUntil([&] { return !Reports().empty(); }));
  }
};

TEST_F(LockedMemoryTest, ItsReservesAreNotFilled) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) GTEST_SKIP() << "memory may not be locked here";
  const int64_t before_kib = StatusKib("VmRSS");
  const int64_t locked_before_kib = StatusKib("VmLck");
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  FreezeUntilSeen(monitor.WatchLoop("ui"));
  const int64_t resident_kib = StatusKib("VmRSS") - before_kib;
  const int64_t locked_kib = StatusKib("VmLck") - locked_before_kib;
  RecordProperty("resident_kib", static_cast<int>(resident_kib));
  std::cout << "resident " << resident_kib << " KiB, locked " << locked_kib << " KiB" << std::endl;
  EXPECT_LE(resident_kib, 8 * 1024);
  EXPECT_EQ(Reports().size(), 1u);
  munlockall();
}

// Every mapping beyond the limit fails then, and so does memory from malloc.
TEST_F(LockedMemoryTest, LittleMemoryThatMayBeLockedEndsNoProgram) {
  ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  for (const rlim_t limit_kib : {64, 256, 1024, 4096}) {
    const int exit_code = InForkedChild([&] {
      const rlimit limit{limit_kib << 10, limit_kib << 10};
      if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 2;
      if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 2;
      if (mlockall(MCL_FUTURE) != 0) return 2;
      auto monitor = Monitor::Start(TestOptions());
      auto loop = monitor.WatchLoop("ui");
      ScopedDispatch dispatch(loop, "freeze");
      usleep(300'000);
      if (!monitor.is_on()) std::cout << monitor.why_off() << std::endl;
      return monitor.is_on() ? 0 : 1;
    });
    std::cout << limit_kib << " KiB: "
              << (exit_code == 0   ? "watched"
                  : exit_code == 1 ? "not watched"
                                   : "not tried")
              << "\n";
    EXPECT_TRUE(exit_code == 0 || exit_code == 1 || exit_code == 2) << exit_code;
  }
}

}  // namespace
}  // namespace lagwatch
