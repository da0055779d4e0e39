// SPDX-License-Identifier: Apache-2.0
// Programs that confine themselves with seccomp filters.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static const int kAllowed[] = {SYS_read,           SYS_write,     SYS_poll,           SYS_clock_gettime,
                               SYS_exit_group,     SYS_exit,      SYS_rt_sigreturn,   SYS_restart_syscall,
                               SYS_clock_nanosleep, SYS_nanosleep, SYS_rt_sigprocmask, SYS_futex,
                               SYS_brk,            SYS_mmap,      SYS_munmap,         SYS_close,
                               SYS_fstat,          SYS_newfstatat, SYS_getpid};

enum Door { kBySeccomp, kByPrctl };

static void Confine(enum Door door, unsigned flags, unsigned answer) {
  enum { kCalls = sizeof kAllowed / sizeof *kAllowed };
  struct sock_filter code[kCalls + 3];
  size_t size = 0;
  code[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < kCalls; ++i) {
    code[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kAllowed[i],
                                                (unsigned char)(kCalls - i), 0);
  }
  code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
  code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)size, code};
  Checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  const long result = door == kBySeccomp ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)
                                         : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  Checked((int)result, "seccomp");
}

static int HangOnce(void) {
  for (int i = 0; i < 5; ++i) Tick(10);
  HangComputing();
  Tick(10);
  HangSleeping();
  Tick(10);
  puts("done");
  return 3;
}

static int ConfineEarly(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Confine(kBySeccomp, 0, SECCOMP_RET_KILL_PROCESS);
  return HangOnce();
}
static int ConfineLate(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  Confine(kByPrctl, 0, SECCOMP_RET_KILL_PROCESS);
  return HangOnce();
}
static int ConfineAllThreads(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  PauseMs(50);
  Confine(kBySeccomp, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_KILL_PROCESS);
  return HangOnce();
}
static int ConfineByErrors(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  Confine(kBySeccomp, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_ERRNO | EPERM);
  return HangOnce();
}
// Strict mode leaves read, write and exit.
static int ConfineStrictly(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  Checked(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0), "strict");
  HangComputing();
  syscall(SYS_exit, 3);
  return 0;
}
// The parent stays as it is, and is watched.
static int ConfineChild(int count, char** arguments) {
  int status = 0;
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    Confine(kByPrctl, 0, SECCOMP_RET_KILL_PROCESS);
    Tick(10);
    Tick(10);
    _exit(4);
  }
  while (waitpid(child, &status, WNOHANG) == 0) Tick(5);
  printf("the child's status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  HangComputing();
  Tick(10);
  return 3;
}

const struct Host kSeccompHosts[] = {
    {"confine_early", ConfineEarly, "HangComputing,HangSleeping", "blind"},
    {"confine_late", ConfineLate, "HangComputing,HangSleeping", "blind"},
    {"confine_all_threads", ConfineAllThreads, "HangComputing,HangSleeping", "blind"},
    {"confine_by_errors", ConfineByErrors, "HangComputing,HangSleeping", "blind"},
    {"confine_strictly", ConfineStrictly, "HangComputing", "blind"},
    {"confine_child", ConfineChild, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
