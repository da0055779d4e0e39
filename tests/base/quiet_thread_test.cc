// SPDX-License-Identifier: Apache-2.0
#include "base/quiet_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/clock.h"

namespace lagwatch::base {
namespace {

TEST(QuietThread, ADescriptorOfAThreadWithItsOwnTableIsNobodyElses) {
  struct Seen {
    int programs_fd;
    bool has_left = false;
    int error_for_programs_fd = 0;
    int own_fd = -1;
  };
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Seen seen{.programs_fd = ends[0]};
  QuietThread thread;
  ASSERT_TRUE(thread
                  .Start(
                      "own-table", 256 << 10,
                      [](void* context) {
                        auto* told = static_cast<Seen*>(context);
                        told->has_left = LeaveFileTable();
                        if (fcntl(told->programs_fd, F_GETFD) < 0) told->error_for_programs_fd = errno;
                        // Left open, and gone with the thread all the same.
                        for (int i = 0; i < 100; ++i) told->own_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
                      },
                      &seen)
                  .ok());
  ASSERT_TRUE(thread.TryJoin(60 * kNsPerSecond));
  if (!seen.has_left) GTEST_SKIP() << "this kernel shares all descriptors";
  EXPECT_EQ(seen.error_for_programs_fd, EBADF);
  EXPECT_EQ(seen.own_fd, 99);
  EXPECT_EQ(fcntl(99, F_GETFD), -1);
  EXPECT_EQ(fcntl(ends[0], F_GETFD), FD_CLOEXEC) << "the program's own is as it was";
  // Nobody else holds the pipe's end, so its closing is seen at once.
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace lagwatch::base
