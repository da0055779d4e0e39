// SPDX-License-Identifier: Apache-2.0
// Programs that give the C library addresses where nothing is: the kernel returns EFAULT for most of them,
// and the others end in the C library. Suites that test the kernel do so, and fuzzers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/host.h"

// Bad addresses: a small number, a page that may not be read, and a place that ends where the page
// begins.
static char* pages;
static void* Bad(int kind) {
  static char* const kSmall = (char*)16;
  return kind == 0 ? kSmall : kind == 1 ? pages + 4096 : pages + 4096 - 4;
}

static sigjmp_buf home;
static void Leave(int signal_number) { siglongjmp(home, signal_number); }

static int kind;
static int fd;
static const struct timespec kShort = {0, 1000000};
static char* const kArguments[] = {"true", NULL};

static long CallPoll(void) { return poll(Bad(kind), 1, 1); }
static long CallPpoll(void) { return ppoll(Bad(kind), 1, &kShort, NULL); }
static long CallPpollTime(void) { return ppoll(NULL, 0, Bad(kind), NULL); }
static long CallPpollMask(void) { return ppoll(NULL, 0, &kShort, Bad(kind)); }
static long CallSelect(void) {
  struct timeval time = {0, 1000};
  return select(1, Bad(kind), NULL, NULL, &time);
}
static long CallSelectTime(void) { return select(0, NULL, NULL, NULL, Bad(kind)); }
static long CallPselect(void) { return pselect(64, NULL, Bad(kind), NULL, &kShort, NULL); }
static long CallPselectMask(void) { return pselect(0, NULL, NULL, NULL, &kShort, Bad(kind)); }
static long CallEpollWait(void) { return epoll_wait(fd, Bad(kind), 1, 1); }
static long CallEpollPwait(void) {
  struct epoll_event event;
  return epoll_pwait(fd, &event, 1, 1, Bad(kind));
}
static long CallSigtimedwait(void) { return sigtimedwait(Bad(kind), NULL, &kShort); }
static long CallSigtimedwaitTime(void) {
  sigset_t set;
  sigemptyset(&set);
  return sigtimedwait(&set, NULL, Bad(kind));
}
static long CallSigtimedwaitInfo(void) {
  sigset_t set;
  sigset_t old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  raise(SIGUSR1);
  const long result = sigtimedwait(&set, Bad(kind), &kShort);
  const int error = errno;
  sigtimedwait(&set, NULL, &(struct timespec){0, 0});
  sigprocmask(SIG_SETMASK, &old, NULL);
  errno = error;
  return result;
}
static long CallRawSigtimedwait(void) { return syscall(SYS_rt_sigtimedwait, Bad(kind), NULL, &kShort, 8L); }
static long CallSigwait(void) {
  int number = 0;
  errno = 0;
  return sigwait(Bad(kind), &number);
}
static long CallSignalfd(void) { return signalfd(-1, Bad(kind), SFD_CLOEXEC); }
static long CallSigaltstack(void) { return sigaltstack(Bad(kind), NULL); }
static long CallSigaltstackOld(void) { return sigaltstack(NULL, Bad(kind)); }
static long CallRawSigaltstack(void) { return syscall(SYS_sigaltstack, Bad(kind), NULL); }
static long CallSetgroups(void) { return setgroups(3, Bad(kind)); }
static long CallPrctl(void) { return prctl(PR_GET_PDEATHSIG, Bad(kind), 0L, 0L, 0L); }
static long CallSend(void) { return send(fd, Bad(kind), 8, 0); }
static long CallSendto(void) {
  const int pair = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const long result = sendto(pair, "x", 1, 0, Bad(kind), 16);
  const int error = errno;
  close(pair);
  errno = error;
  return result;
}
static long CallSendmsg(void) {
  const int pair = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const long result = sendmsg(pair, Bad(kind), 0);
  const int error = errno;
  close(pair);
  errno = error;
  return result;
}
static long CallChroot(void) { return chroot(Bad(kind)); }
static long CallExecPath(void) { return execve(Bad(kind), kArguments, environ); }
static long CallExecArguments(void) { return execve("/bin/true", Bad(kind), environ); }
static long CallExecEnvironment(void) { return execve("/bin/true", kArguments, Bad(kind)); }
static long CallExecText(void) {
  char* const variables[] = {"A=b", Bad(kind), NULL};
  return execve("/bin/true", kArguments, variables);
}
static long CallFexecve(void) { return fexecve(fd, kArguments, Bad(kind)); }
static long CallExecveat(void) { return execveat(AT_FDCWD, Bad(kind), kArguments, environ, 0); }
static long CallRawExec(void) { return syscall(SYS_execve, "/bin/true", kArguments, Bad(kind)); }
static long CallSpawn(void) {
  pid_t child = 0;
  return posix_spawn(&child, "/bin/true", NULL, NULL, kArguments, Bad(kind));
}

static const struct {
  const char* name;
  long (*call)(void);
} kCalls[] = {
#define CALL(name) \
  { #name, Call##name }
    CALL(Poll),
    CALL(Ppoll),
    CALL(PpollTime),
    CALL(PpollMask),
    CALL(Select),
    CALL(SelectTime),
    CALL(Pselect),
    CALL(PselectMask),
    CALL(EpollWait),
    CALL(EpollPwait),
    CALL(Sigtimedwait),
    CALL(SigtimedwaitTime),
    CALL(SigtimedwaitInfo),
    CALL(RawSigtimedwait),
    CALL(Sigwait),
    CALL(Signalfd),
    CALL(Sigaltstack),
    CALL(SigaltstackOld),
    CALL(RawSigaltstack),
    CALL(Setgroups),
    CALL(Prctl),
    CALL(Send),
    CALL(Sendto),
    CALL(Sendmsg),
    CALL(Chroot),
    CALL(ExecPath),
    CALL(ExecArguments),
    CALL(ExecEnvironment),
    CALL(ExecText),
    CALL(Fexecve),
    CALL(Execveat),
    CALL(RawExec),
    CALL(Spawn),
};

static void TryAll(void) {
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    memset(pages, 'a', 4096);  // no text ends
    errno = 0;
    const int fault = sigsetjmp(home, 1);
    if (fault != 0) {
      printf("%s %d: signal %d\n", kCalls[i].name, kind, fault);
      continue;
    }
    const long result = kCalls[i].call();
    printf("%s %d: %ld, error %d\n", kCalls[i].name, kind, result, errno);
  }
}

static int GiveBadAddresses(void) {
  pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  signal(SIGSEGV, Leave);
  signal(SIGBUS, Leave);
  signal(SIGALRM, SIG_DFL);
  fd = Checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  for (kind = 0; kind < 3; ++kind) TryAll();
  TickTimes(12, 5);
  for (kind = 0; kind < 3; ++kind) TryAll();
  return HangOnce();
}

const struct Host kFaultHosts[] = {
    {"give_bad_addresses", GiveBadAddresses, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
