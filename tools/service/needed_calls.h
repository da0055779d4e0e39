// SPDX-License-Identifier: Apache-2.0
// The system calls of lagwatch in a program that a seccomp filter confines, as docs/configuration.md lists
// them.
#pragma once

#include <string_view>

namespace lagwatch::tools {

inline constexpr std::string_view kNeededCalls =
    "access brk capget clock_gettime clock_nanosleep clone clone3 close close_range connect dup exit "
    "fcntl fdatasync flock fstat fsync ftruncate futex futex_waitv get_robust_list getdents64 geteuid "
    "getpeername getpid getrandom getrusage getsockname gettid getuid ioctl kill lseek lstat madvise "
    "membarrier mkdir mmap mprotect mremap munlock munmap nanosleep newfstatat open openat prctl "
    "pread64 prlimit64 process_vm_readv pwrite64 read readlink recvfrom rename rmdir rseq "
    "rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigtimedwait rt_tgsigqueueinfo "
    "sched_getaffinity sendto set_robust_list sigaltstack socket statfs sysinfo tgkill timer_create "
    "timer_delete timer_settime umask uname unlink unlinkat unshare write writev";

}  // namespace lagwatch::tools
