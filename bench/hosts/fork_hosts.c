// SPDX-License-Identifier: Apache-2.0
// Programs that fork, and that become other programs. The parent waits for its children, so that all output
// comes before its end.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/hosts/host.h"

extern char** environ;

static int HangInChild(void) {
  BeginLoop();
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    BeginLoop();
    HangOnce();
    exit(11);
  }
  WaitInLoop(child, 5);
  return Done();
}

static int ForkOften(void) {
  int sum = 0;
  BeginLoop();
  for (int i = 0; i < 300; ++i) {
    const pid_t child = Checked(fork(), "fork");
    if (child == 0) _exit(1);
    sum += WaitFor(child);
    Tick(0);
  }
  printf("children %d\n", sum);
  return HangOnce();
}

static atomic_int is_over;
static void* ForkInThread(void* unused) {
  long failed = 0;
  while (!is_over) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    failed += child < 0 || WaitFor(child) != 0;
  }
  printf("failed forks %ld\n", failed);
  return NULL;
}
static int ForkBesideHang(void) {
  BeginLoop();
  const pthread_t first = StartThread(ForkInThread, NULL);
  const pthread_t second = StartThread(ForkInThread, NULL);
  HangSleeping();
  Tick(10);
  HangOnce();
  is_over = 1;
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  return 3;
}

// As daemons do it: the parent ends, the child goes on in its own session.
static int BecomeDaemon(void) {
  int ends[2];
  char byte = 0;
  BeginLoop();
  Checked(pipe(ends), "pipe");
  if (Checked(fork(), "fork") != 0) {
    close(ends[1]);
    return read(ends[0], &byte, 1) == 1 ? byte : 1;
  }
  close(ends[0]);
  Checked(setsid(), "setsid");
  BeginLoop();
  HangOnce();
  byte = 12;
  return write(ends[1], &byte, 1) == 1 ? 0 : 1;
}

static int CallDaemon(void) {
  int ends[2];
  char byte = 0;
  BeginLoop();
  Checked(pipe(ends), "pipe");
  const pid_t child = Checked(fork(), "fork");
  if (child != 0) {
    close(ends[1]);
    WaitFor(child);
    return read(ends[0], &byte, 1) == 1 ? byte : 1;
  }
  Checked(daemon(1, 1), "daemon");
  BeginLoop();
  HangOnce();
  byte = 13;
  return write(ends[1], &byte, 1) == 1 ? 0 : 1;
}

static int VforkAndExec(void) {
  char* const command[] = {(char*)"/bin/true", NULL};
  int failed = 0;
  BeginLoop();
  for (int i = 0; i < 30; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execv(command[0], command);
      _exit(1);
    }
    failed += WaitFor(child);
    Tick(1);
  }
  printf("failed %d\n", failed);
  return HangOnce();
}

static int SpawnPrograms(void) {
  char* const command[] = {(char*)"/bin/sh", (char*)"-c", (char*)"env | grep -c -e LAGWATCH -e LD_PRELOAD",
                           NULL};
  pid_t child;
  BeginLoop();
  for (int i = 0; i < 5; ++i) {
    if (posix_spawn(&child, command[0], NULL, NULL, command, environ) != 0) return 1;
    printf("its status %d\n", WaitFor(child));
    Tick(1);
  }
  printf("the shell's status %d\n", WEXITSTATUS(system("exit 5")));
  return HangOnce();
}

static int ShowEnvironment(void) {
  int own = 0;
  for (char** variable = environ; *variable != NULL; ++variable)
    own += strstr(*variable, "LAGWATCH_PRELOAD") != NULL || strncmp(*variable, "LD_PRELOAD", 10) == 0;
  printf("variables of the monitor %d\n", own);
  BeginLoop();
  return 3;
}

static char own_path[4096];
static int Become(const char* name, int uses_search) {
  char* const command[] = {own_path, (char*)name, NULL};
  const ssize_t size = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
  own_path[size > 0 ? size : 0] = '\0';
  if (uses_search) execvp(own_path, command);
  execve(own_path, command, environ);
  return 1;
}
static int BecomeAnother(void) { return Become("exit_in_hang", 0); }
static int BecomeAnotherLater(void) {
  BeginLoop();
  PauseMs(30);
  return Become("exit_in_hang", 1);
}
// A sleep of so young a loop may be idleness: it is decided only when the program polls again.
static int BecomeAnotherAfterHang(void) {
  TickTimes(3, 5);
  HangSleeping();
  Tick(1);
  return Become("run_exit_handlers", 0);
}

// As handlers of crashes do: a program is started from a signal handler, on a stack of 8 KiB.
static void ReportCrash(int signal_number) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/echo", "echo", "a crash", (char*)NULL);
    _exit(99);
  }
  WaitFor(child);
  _exit(4);
}
static int ExecInHandler(void) {
  enum { kStackBytes = 8192 };
  const stack_t stack = {.ss_sp = GuardedMemory(kStackBytes), .ss_size = kStackBytes};
  const struct sigaction action = {.sa_handler = ReportCrash, .sa_flags = SA_ONSTACK};
  Checked(sigaltstack(&stack, NULL), "sigaltstack");
  Checked(sigaction(SIGUSR1, &action, NULL), "sigaction");
  BeginLoop();
  raise(SIGUSR1);
  return 1;
}

const struct Host kForkHosts[] = {
    {"exec_in_handler", ExecInHandler, "", "children"},
    {"hang_in_child", HangInChild, "HangComputing", ""},
    {"fork_often", ForkOften, "HangComputing", ""},
    {"fork_beside_hang", ForkBesideHang, "HangSleeping,HangComputing", ""},
    {"become_daemon", BecomeDaemon, "HangComputing", "blocks"},
    {"call_daemon", CallDaemon, "HangComputing", "blocks"},
    {"vfork_and_exec", VforkAndExec, "HangComputing", ""},
    {"spawn_programs", SpawnPrograms, "HangComputing", ""},
    {"show_environment", ShowEnvironment, "", ""},
    {"become_another", BecomeAnother, "HangComputing", ""},
    {"become_another_later", BecomeAnotherLater, "HangComputing", ""},
    {"become_another_after_hang", BecomeAnotherAfterHang, "HangSleeping", ""},
    {NULL, NULL, NULL, NULL},
};
