// SPDX-License-Identifier: Apache-2.0
// Calls each function that the preloaded library hooks at four moments: from .preinit_array, before any
// constructor; from a library's constructor, which runs before the preloaded library's; and in main, there
// and in a signal handler. Prints the results, which are those of the bare run. With --list, the functions.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int __poll_chk(struct pollfd* fds, nfds_t count, int timeout_ms, size_t bytes);
int __ppoll_chk(struct pollfd* fds, nfds_t count, const struct timespec* timeout, const sigset_t* mask,
                size_t bytes);
__attribute__((weak)) int sched_setattr(pid_t tid, void* attributes, unsigned flags);  // since glibc 2.41
void __cyg_profile_func_enter(void* function, void* call_site);
void __cyg_profile_func_exit(void* function, void* call_site);

static char* no_environment[] = {NULL};
static char* arguments[] = {"sh", "-c", "exit 9", NULL};
static const char kShell[] = "/bin/sh";
static const struct timespec kSoon = {0, 1000000};
enum { kFailed = 100 };

// Of a child that does not return from what it calls. In a child, as most of these are used.
#define IN_CHILD(call)                  \
  ({                                    \
    const pid_t child = fork();         \
    if (child == 0) {                   \
      call;                             \
      syscall(SYS_exit_group, kFailed); \
    }                                   \
    int status = 0;                     \
    waitpid(child, &status, 0);         \
    WEXITSTATUS(status);                \
  })

#include "early_object_hooks.h"

static sigset_t Blocked(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
  return set;
}
static int Status(int error, pid_t child) {
  int status = 0;
  if (error != 0) return error;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

static int Poll(void) { return poll(NULL, 0, 1); }
static int Ppoll(void) { return ppoll(NULL, 0, &kSoon, NULL); }
static int PollChk(void) { return __poll_chk(NULL, 0, 1, 0); }
static int PpollChk(void) { return __ppoll_chk(NULL, 0, &kSoon, NULL, 0); }
static int Select(void) {
  struct timeval timeout = {0, 1000};
  return select(0, NULL, NULL, NULL, &timeout) + (int)timeout.tv_usec;
}
static int Pselect(void) { return pselect(0, NULL, NULL, NULL, &kSoon, NULL); }
#define WITH_EPOLL(call)           \
  struct epoll_event event;        \
  const int fd = epoll_create1(0); \
  const int result = call;         \
  close(fd);                       \
  return result
static int EpollWait(void) { WITH_EPOLL(epoll_wait(fd, &event, 1, 1)); }
static int EpollPwait(void) { WITH_EPOLL(epoll_pwait(fd, &event, 1, 1, NULL)); }
static int EpollPwait2(void) { WITH_EPOLL(epoll_pwait2(fd, &event, 1, &kSoon, NULL)); }

static int Exit(void) { return IN_CHILD(_exit(5)); }
static int ExitC(void) { return IN_CHILD(_Exit(6)); }
static int Daemon(void) { return IN_CHILD(daemon(1, 1)); }

static int Prctl(void) { return prctl(PR_GET_DUMPABLE); }
static int Syscall(void) {
  stack_t stack;
  return syscall(SYS_getpid) == getpid() && syscall(SYS_sigaltstack, NULL, &stack) == 0;
}
static int SetAttributes(void) {
  const long result =
      sched_setattr == NULL ? syscall(SYS_sched_setattr, -1, NULL, 0) : sched_setattr(-1, NULL, 0);
  return result == -1 ? errno : 0;
}
static int Unshare(void) { return unshare(0); }
static int Setns(void) { return setns(-1, 0) == -1 ? errno : 0; }

static int Execl(void) { return IN_CHILD(execl(kShell, "sh", "-c", "exit 9", (char*)NULL)); }
static int Execle(void) {
  return IN_CHILD(execle(kShell, "sh", "-c", "exit 9", (char*)NULL, no_environment));
}
static int Execlp(void) { return IN_CHILD(execlp("sh", "sh", "-c", "exit 9", (char*)NULL)); }
static int Execv(void) { return IN_CHILD(execv(kShell, arguments)); }
static int Execve(void) { return IN_CHILD(execve(kShell, arguments, no_environment)); }
static int Execveat(void) { return IN_CHILD(execveat(AT_FDCWD, kShell, arguments, no_environment, 0)); }
static int Execvp(void) { return IN_CHILD(execvp("sh", arguments)); }
static int Execvpe(void) { return IN_CHILD(execvpe("sh", arguments, no_environment)); }
static int Fexecve(void) { return IN_CHILD(fexecve(open(kShell, O_RDONLY), arguments, no_environment)); }
static int PosixSpawn(void) {
  pid_t child = 0;
  const int error = posix_spawn(&child, kShell, NULL, NULL, arguments, no_environment);
  return Status(error, child);
}
static int PosixSpawnp(void) {
  pid_t child = 0;
  const int error = posix_spawnp(&child, "sh", NULL, NULL, arguments, no_environment);
  return Status(error, child);
}

static int Chroot(void) { return IN_CHILD(_exit(chroot("/none") == -1 ? errno : 0)); }
static int Initgroups(void) { return IN_CHILD(_exit(initgroups("root", 0) == 0 || errno == EPERM)); }
static int Setegid(void) { return setegid(getegid()); }
static int Seteuid(void) { return seteuid(geteuid()); }
static int Setfsuid(void) { return setfsuid(geteuid()) == (int)geteuid(); }
static int Setgid(void) { return setgid(getgid()); }
static int Setgroups(void) { return IN_CHILD(_exit(setgroups(0, NULL) == 0 || errno == EPERM)); }
static int Setregid(void) { return setregid((gid_t)-1, getegid()); }
static int Setresgid(void) { return setresgid((gid_t)-1, getegid(), (gid_t)-1); }
static int Setresuid(void) { return setresuid((uid_t)-1, geteuid(), (uid_t)-1); }
static int Setreuid(void) { return setreuid((uid_t)-1, geteuid()); }
static int Setuid(void) { return setuid(getuid()); }

static int Sigaltstack(void) {
  static char memory[64 << 10];
  stack_t own = {.ss_sp = memory, .ss_size = sizeof memory};
  stack_t before;
  if (sigaltstack(NULL, &before) != 0) return kFailed;
  if ((before.ss_flags & SS_ONSTACK) != 0) return 0;
  const int result = sigaltstack(&own, &before);
  return result + sigaltstack(&before, NULL);
}
static int Sigtimedwait(void) {
  const sigset_t set = Blocked();
  siginfo_t info;
  return sigtimedwait(&set, &info, &kSoon) == SIGUSR2 && info.si_pid == getpid() &&
         sigtimedwait(&set, NULL, &kSoon) == -1 && errno == EAGAIN;
}
static int Signalfd(void) {
  const sigset_t set = Blocked();
  const int fd = signalfd(-1, &set, SFD_NONBLOCK);
  struct signalfd_siginfo info;
  const ssize_t size = read(fd, &info, sizeof info);
  close(fd);
  return size == sizeof info ? (int)info.ssi_signo : kFailed;
}
static int Sigwait(void) {
  const sigset_t set = Blocked();
  int taken = 0;
  return sigwait(&set, &taken) + taken;
}
static int Sigwaitinfo(void) {
  const sigset_t set = Blocked();
  return sigwaitinfo(&set, NULL);
}

#define WITH_SOCKETS(call)                                          \
  int fds[2];                                                       \
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) != 0) return kFailed; \
  const int result = (int)(call);                                   \
  close(fds[0]);                                                    \
  close(fds[1]);                                                    \
  return result
static int Send(void) { WITH_SOCKETS(send(fds[0], "ab", 2, 0)); }
static int Sendto(void) { WITH_SOCKETS(sendto(fds[0], "abc", 3, 0, NULL, 0)); }
static int Sendmsg(void) {
  struct iovec piece = {"abcd", 4};
  const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  WITH_SOCKETS(sendmsg(fds[0], &message, 0));
}

static const struct sched_param kNoPriority;
static int Nice(void) { return nice(0) == getpriority(PRIO_PROCESS, 0); }
static int SetPriority(void) { return setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)); }
static int SetScheduler(void) { return sched_setscheduler(-1, SCHED_OTHER, &kNoPriority) == -1 ? errno : 0; }
static int SetParam(void) { return sched_setparam(0, &kNoPriority); }
static int SetAffinity(void) {
  cpu_set_t processors;
  return sched_getaffinity(0, sizeof processors, &processors) +
         sched_setaffinity(0, sizeof processors, &processors);
}
static int SetThreadParam(void) { return pthread_setschedparam(pthread_self(), SCHED_OTHER, &kNoPriority); }
static int SetThreadPriority(void) { return pthread_setschedprio(pthread_self(), 0); }
static int SetThreadAffinity(void) {
  cpu_set_t processors;
  return sched_getaffinity(0, sizeof processors, &processors) +
         pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
}

static int Enter(void) {
  __cyg_profile_func_enter((void*)Enter, NULL);
  return 0;
}
static int Leave(void) {
  __cyg_profile_func_exit((void*)Enter, NULL);
  return 0;
}

static const struct {
  const char* name;
  int (*call)(void);
} kHooks[] = {
    {"poll", Poll},
    {"ppoll", Ppoll},
    {"__poll_chk", PollChk},
    {"__ppoll_chk", PpollChk},
    {"select", Select},
    {"pselect", Pselect},
    {"epoll_wait", EpollWait},
    {"epoll_pwait", EpollPwait},
    {"epoll_pwait2", EpollPwait2},
    OBJECT_HOOKS,
    {"_exit", Exit},
    {"_Exit", ExitC},
    {"daemon", Daemon},
    {"prctl", Prctl},
    {"syscall", Syscall},
    {"sched_setattr", SetAttributes},
    {"unshare", Unshare},
    {"setns", Setns},
    {"execl", Execl},
    {"execle", Execle},
    {"execlp", Execlp},
    {"execv", Execv},
    {"execve", Execve},
    {"execveat", Execveat},
    {"execvp", Execvp},
    {"execvpe", Execvpe},
    {"fexecve", Fexecve},
    {"posix_spawn", PosixSpawn},
    {"posix_spawnp", PosixSpawnp},
    {"chroot", Chroot},
    {"initgroups", Initgroups},
    {"setegid", Setegid},
    {"seteuid", Seteuid},
    {"setfsuid", Setfsuid},
    {"setgid", Setgid},
    {"setgroups", Setgroups},
    {"setregid", Setregid},
    {"setresgid", Setresgid},
    {"setresuid", Setresuid},
    {"setreuid", Setreuid},
    {"setuid", Setuid},
    {"sigaltstack", Sigaltstack},
    {"sigtimedwait", Sigtimedwait},
    {"signalfd", Signalfd},
    {"sigwait", Sigwait},
    {"sigwaitinfo", Sigwaitinfo},
    {"send", Send},
    {"sendto", Sendto},
    {"sendmsg", Sendmsg},
    {"nice", Nice},
    {"setpriority", SetPriority},
    {"sched_setscheduler", SetScheduler},
    {"sched_setparam", SetParam},
    {"sched_setaffinity", SetAffinity},
    {"pthread_setschedparam", SetThreadParam},
    {"pthread_setschedprio", SetThreadPriority},
    {"pthread_setaffinity_np", SetThreadAffinity},
    {"__cyg_profile_func_enter", Enter},
    {"__cyg_profile_func_exit", Leave},
};
enum { kHookCount = sizeof kHooks / sizeof *kHooks, kMoments = 4 };

static int is_listing;
static int results[kMoments][kHookCount];

static void CallAll(int moment) {
  for (int i = 0; i < kHookCount && !is_listing; ++i) results[moment][i] = kHooks[i].call();
}

static void CallBeforeConstructors(int count, char** values, char** environment) {
  (void)values;
  if (environ == NULL) environ = environment;  // for execv and similar calls
  is_listing = count > 1;
  CallAll(0);
}
__attribute__((section(".preinit_array"),
               used)) static void (*before_constructors)(int, char**, char**) = CallBeforeConstructors;

// Called by the library's constructor.
void CallInConstructor(void);
void CallInConstructor(void) { CallAll(1); }

static void CallInHandler(int signal_number) {
  (void)signal_number;
  CallAll(3);
}

int main(void) {
  if (is_listing) {
    for (int i = 0; i < kHookCount; ++i) puts(kHooks[i].name);
    return 0;
  }
  CallAll(2);
  const struct sigaction action = {.sa_handler = CallInHandler};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  for (int i = 0; i < kHookCount; ++i) {
    printf("%s", kHooks[i].name);
    for (int moment = 0; moment < kMoments; ++moment) printf(" %d", results[moment][i]);
    puts("");
  }
  return 3;
}
