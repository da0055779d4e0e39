// SPDX-License-Identifier: Apache-2.0
// Programs that confine themselves with seccomp filters.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static const int kAllowed[] = {SYS_read,
                               SYS_write,
                               SYS_poll,
                               SYS_clock_gettime,
                               SYS_exit_group,
                               SYS_exit,
                               SYS_rt_sigreturn,
                               SYS_restart_syscall,
                               SYS_clock_nanosleep,
                               SYS_nanosleep,
                               SYS_rt_sigprocmask,
                               SYS_futex,
                               SYS_brk,
                               SYS_mmap,
                               SYS_munmap,
                               SYS_close,
                               SYS_fstat,
                               SYS_newfstatat,
                               SYS_getpid};

enum Door { kBySeccomp, kByPrctl };

// The filter's result for the listed calls, and for all others.
static void Filter(const int* calls, size_t count, unsigned listed, unsigned others, enum Door door,
                   unsigned flags) {
  struct sock_filter code[64];
  size_t size = 0;
  code[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < count; ++i)
    code[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
                                                (unsigned char)(count - i), 0);
  code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
  code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
  struct sock_fprog program = {(unsigned short)size, code};
  Checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  const long result = door == kBySeccomp ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)
                                         : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  Checked((int)result, "seccomp");
}
static void Confine(enum Door door, unsigned flags, unsigned answer) {
  Filter(kAllowed, sizeof kAllowed / sizeof *kAllowed, SECCOMP_RET_ALLOW, answer, door, flags);
}

static int HangAndEnd(void) {
  TickTimes(5, 10);
  HangTwice();
  return Done();
}

static int ConfineEarly(void) {
  Confine(kBySeccomp, 0, SECCOMP_RET_KILL_PROCESS);
  return HangAndEnd();
}
static int ConfineLate(void) {
  BeginLoop();
  Confine(kByPrctl, 0, SECCOMP_RET_KILL_PROCESS);
  return HangAndEnd();
}
static int ConfineAllThreads(void) {
  BeginLoop();
  PauseMs(50);
  Confine(kBySeccomp, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_KILL_PROCESS);
  return HangAndEnd();
}
static int ConfineByErrors(void) {
  BeginLoop();
  Confine(kBySeccomp, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_ERRNO | EPERM);
  return HangAndEnd();
}
// Strict mode leaves read, write and exit.
static int ConfineStrictly(void) {
  BeginLoop();
  Checked(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0), "strict");
  HangComputing();
  syscall(SYS_exit, 3);
  return 0;
}
// The parent stays as it is, and is watched.
static int ConfineChild(void) {
  BeginLoop();
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    Confine(kByPrctl, 0, SECCOMP_RET_KILL_PROCESS);
    BeginLoop();
    _exit(4);
  }
  printf("the child's status %d\n", WaitInLoop(child, 5));
  return HangOnce();
}

// Calls that a monitor might make in a hook or a fork handler, and that a confined program need not allow.
static void Forbid(void) {
  static const int kForbidden[] = {
      SYS_gettid,   SYS_getpid,       SYS_process_vm_readv, SYS_sched_yield, SYS_geteuid,
      SYS_readlink, SYS_timer_delete, SYS_membarrier,       SYS_tgkill,      SYS_sigaltstack,
      SYS_prctl,    SYS_statx,        SYS_unshare,          SYS_capget};
  BeginLoop();
  Filter(kForbidden, sizeof kForbidden / sizeof *kForbidden, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW,
         kByPrctl, 0);
}
static void ForkOnce(void) {
  const pid_t child = fork();
  if (child == 0) {
    TickTimes(2, 1);
    _exit(5);
  }
  printf("the child's status %d\n", WaitFor(child));
}
static int ForkConfined(void) {
  Forbid();
  ForkOnce();
  return 3;
}
static int DropConfined(void) {
  Forbid();
  printf("%d %d\n", setgid(65534), setuid(65534));
  return 3;
}
static int ExecConfined(void) {
  Forbid();
  execl("/bin/echo", "echo", "another program", (char*)NULL);
  return 1;
}

// Landlock: no file may be opened any more.
static int RestrictFiles(void) {
  enum { kCreateRuleset = 444, kRestrictSelf = 446 };
  const unsigned long long all_of_files = 0x1fff;
  const int rules = (int)syscall(kCreateRuleset, &all_of_files, sizeof all_of_files, 0);
  Checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  if (rules >= 0) Checked((int)syscall(kRestrictSelf, rules, 0), "landlock");  // else the kernel has none
  return HangAndEnd();
}

// A read of the time stamp counter is a fault.
static int ForbidTicks(void) {
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  TickTimes(5, 1);
  prctl(PR_SET_TSC, PR_TSC_ENABLE);
  return HangAndEnd();
}

// System calls outside the C library become SIGSYS.
static volatile char dispatches;
static volatile int dispatched;
static void NoteDispatch(int signal_number) {
  dispatches = 0;
  ++dispatched;
}
static int DispatchCalls(void) {
  unsigned long begin = 0;
  unsigned long end = 0;
  char line[512];
  BeginLoop();
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from = 0;
    unsigned long to = 0;
    if (strstr(line, "/libc.so.6") == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
    if (begin == 0) begin = from;
    end = to;
  }
  if (maps != NULL) fclose(maps);
  signal(SIGSYS, NoteDispatch);
  prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, begin, end - begin, &dispatches);
  dispatches = 1;
  HangTwice();
  dispatches = 0;
  printf("dispatched %d\n", dispatched);
  return 3;
}

const struct Host kSeccompHosts[] = {
    {"fork_confined", ForkConfined, "", ""},
    {"drop_confined", DropConfined, "", "root"},
    {"exec_confined", ExecConfined, "", ""},
    {"restrict_files", RestrictFiles, "HangComputing,HangSleeping", ""},
    {"forbid_ticks", ForbidTicks, "HangComputing,HangSleeping", "blind"},
    {"dispatch_calls", DispatchCalls, "HangComputing,HangSleeping", "blind"},
    {"confine_early", ConfineEarly, "HangComputing,HangSleeping", "blind"},
    {"confine_late", ConfineLate, "HangComputing,HangSleeping", "blind"},
    {"confine_all_threads", ConfineAllThreads, "HangComputing,HangSleeping", "blind"},
    {"confine_by_errors", ConfineByErrors, "HangComputing,HangSleeping", "blind"},
    {"confine_strictly", ConfineStrictly, "HangComputing", "blind"},
    {"confine_child", ConfineChild, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
