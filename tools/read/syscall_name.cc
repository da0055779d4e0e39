// SPDX-License-Identifier: Apache-2.0
#include "tools/read/syscall_name.h"

namespace lagwatch::tools {
namespace {

constexpr int kNone = -1;

struct Syscall {
  std::string_view name;
  int x86_64;
  int aarch64;
};

constexpr Syscall kSyscalls[] = {
    {"read", 0, 63},
    {"write", 1, 64},
    {"open", 2, kNone},
    {"close", 3, 57},
    {"poll", 7, kNone},
    {"ioctl", 16, 29},
    {"pread64", 17, 67},
    {"pwrite64", 18, 68},
    {"readv", 19, 65},
    {"writev", 20, 66},
    {"select", 23, kNone},
    {"msync", 26, 227},
    {"pause", 34, kNone},
    {"nanosleep", 35, 101},
    {"sendfile", 40, 71},
    {"connect", 42, 203},
    {"accept", 43, 202},
    {"sendto", 44, 206},
    {"recvfrom", 45, 207},
    {"sendmsg", 46, 211},
    {"recvmsg", 47, 212},
    {"wait4", 61, 260},
    {"msgsnd", 69, 189},
    {"msgrcv", 70, 188},
    {"fcntl", 72, 25},
    {"flock", 73, 32},
    {"fsync", 74, 82},
    {"fdatasync", 75, 83},
    {"rt_sigtimedwait", 128, 137},
    {"rt_sigsuspend", 130, 133},
    {"sync", 162, 81},
    {"futex", 202, 98},
    {"io_getevents", 208, 4},
    {"restart_syscall", 219, 128},
    {"semtimedop", 220, 192},
    {"clock_nanosleep", 230, 115},
    {"epoll_wait", 232, kNone},
    {"waitid", 247, 95},
    {"openat", 257, 56},
    {"pselect6", 270, 72},
    {"ppoll", 271, 73},
    {"splice", 275, 76},
    {"sync_file_range", 277, 84},
    {"epoll_pwait", 281, 22},
    {"accept4", 288, 242},
    {"recvmmsg", 299, 243},
    {"syncfs", 306, 267},
    {"sendmmsg", 307, 269},
    {"io_uring_enter", 426, 426},
    {"epoll_pwait2", 441, 441},
    {"futex_waitv", 449, 449},
};

}  // namespace

std::string SyscallName(uint64_t number, std::string_view machine) {
  for (const Syscall& syscall : kSyscalls) {
    int known = machine == "x86_64" ? syscall.x86_64 : machine == "aarch64" ? syscall.aarch64 : kNone;
    if (known != kNone && static_cast<uint64_t>(known) == number) return std::string(syscall.name);
  }
  return "syscall " + std::to_string(number);
}

}  // namespace lagwatch::tools
