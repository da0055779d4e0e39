// SPDX-License-Identifier: Apache-2.0
// Children, and programs that become others in the middle of their work.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

extern char** environ;

static int CodeOf(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -100;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
static int ForkOne(uint32_t what) {
  const pid_t child = fork();
  if (child != 0) return CodeOf(child);
  if (what == 0) _exit(CountDescriptors());
  if (what == 1) {
    poll(NULL, 0, 1);
    poll(NULL, 0, 1);
    exit(CountDescriptors());
  }
  execl("/bin/true", "true", (char*)NULL);
  _exit(99);
}
static int VforkOne(void) {
  const pid_t child = vfork();
  if (child != 0) return CodeOf(child);
  execl("/bin/false", "false", (char*)NULL);
  _exit(99);
}
static int SpawnOne(void) {
  char* arguments[] = {"sh", "-c", "exit 9", NULL};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
  return error != 0 ? -error : CodeOf(child);
}
static void* ForkInThread(void* what) { return (void*)(long)ForkOne((uint32_t)(long)what); }
static int StartChild(void) {
  void* code = NULL;
  const uint32_t what = Random(6);
  if (what < 3) return ForkOne(what);
  if (what == 3) return VforkOne();
  if (what == 4) return SpawnOne();
  pthread_join(StartThread(ForkInThread, (void*)(long)Random(3)), &code);
  return (int)(long)code;
}
const struct Ingredient kProcesses = {"processes", NULL, StartChild, NULL};

// The next program has the same process id, and goes on after this step.
static uint32_t exec_kind;
static void Exec(void) {
  static char path[] = "PATH=/usr/bin:/bin";
  char* bare[] = {path, NULL};
  char** arguments = NextArguments();
  switch (exec_kind) {
    case 0:
      execv("/proc/self/exe", arguments);
      break;
    case 1:
      execve("/proc/self/exe", arguments, bare);
      break;
    case 2:
      fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), arguments, environ);
      break;
    case 3:
      execvpe(arguments[0], arguments, environ);
      break;
    case 4:
      syscall(SYS_execve, "/proc/self/exe", arguments, environ);
      break;
    default:
      execlp("env", "env", arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], (char*)NULL);
  }
}
static void* ExecInThread(void* unused) {
  Exec();
  return unused;
}
static int BecomeNext(void) {
  exec_kind = Random(6);
  if (Random(3) == 0) return 0;
  if (Random(4) == 0) {
    pthread_join(StartThread(ExecInThread, NULL), NULL);
  } else {
    Exec();
  }
  return -errno;
}
const struct Ingredient kExec = {"exec", NULL, BecomeNext, NULL};
