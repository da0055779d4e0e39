// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace lagwatch::base {
namespace {

TEST(SystemClock, MonoNsIsTheClockOfSleepsAndNeverGoesBack) {
  const Clock& clock = SystemClock();
  int64_t before_ns = clock.MonoNs();
  int64_t steady_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  int64_t after_ns = clock.MonoNs();
  EXPECT_LE(before_ns, steady_ns);
  EXPECT_LE(steady_ns, after_ns);
}

TEST(SystemClock, WallMsIsSinceTheEpoch) {
  int64_t before_s = time(nullptr) - 1;  // time() may hang behind by the kernel's tick
  int64_t wall_ms = SystemClock().WallMs();
  EXPECT_GE(wall_ms, before_s * 1000);
  EXPECT_LE(wall_ms, (time(nullptr) + 2) * 1000);
}

TEST(ThreadCpuNs, CountsTheWorkOfThatThreadOnly) {
  int64_t own_before_ns = ThreadCpuNs(gettid());
  int64_t process_before_ns = ProcessCpuNs();
  int64_t worked_ns = 0;
  std::thread worker([&] {
    constexpr int64_t kWorkNs = 20 * kNsPerMs;
    while ((worked_ns = ThreadCpuNs(gettid())) < kWorkNs) {
    }
  });
  worker.join();
  int64_t own_ns = ThreadCpuNs(gettid()) - own_before_ns;
  EXPECT_LT(own_ns, worked_ns);
  EXPECT_GE(ProcessCpuNs() - process_before_ns, worked_ns);
}

TEST(ThreadCpuNs, IsMinusOneForAThreadThatIsGone) {
  int tid = 0;
  std::thread([&] { tid = gettid(); }).join();
  // The kernel may take a moment more than join() to forget the thread.
  while (access(("/proc/self/task/" + std::to_string(tid)).c_str(), F_OK) == 0) std::this_thread::yield();
  EXPECT_EQ(ThreadCpuNs(tid), -1);
}

}  // namespace
}  // namespace lagwatch::base
