// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "tools/read/report_parts.h"

namespace lagwatch::tools {
namespace {

TEST(SyscallName, IsTheOneOfThisMachinesHeaders) {
  utsname system{};
  ASSERT_EQ(uname(&system), 0);
  EXPECT_EQ(SyscallName(SYS_read, system.machine), "read");
  EXPECT_EQ(SyscallName(SYS_futex, system.machine), "futex");
  EXPECT_EQ(SyscallName(SYS_fsync, system.machine), "fsync");
  EXPECT_EQ(SyscallName(SYS_epoll_pwait, system.machine), "epoll_pwait");
  EXPECT_EQ(SyscallName(SYS_clock_nanosleep, system.machine), "clock_nanosleep");
  EXPECT_EQ(SyscallName(SYS_umask, system.machine), "syscall " + std::to_string(SYS_umask));
}

TEST(SyscallName, DependsOnTheMachine) {
  EXPECT_EQ(SyscallName(202, "x86_64"), "futex");
  EXPECT_EQ(SyscallName(98, "aarch64"), "futex");
  EXPECT_EQ(SyscallName(202, "aarch64"), "accept");
  EXPECT_EQ(SyscallName(202, "riscv64"), "syscall 202");
  EXPECT_EQ(SyscallName(UINT64_MAX, "aarch64"), "syscall 18446744073709551615");
}

}  // namespace
}  // namespace lagwatch::tools
