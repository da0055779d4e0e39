// SPDX-License-Identifier: Apache-2.0
// Waits as a loop does, and then forks a few times: fork() by way of all handlers, and a bare clone(2).
// Prints the number of mappings that a child gets, the page faults of one fork() in the parent, and those in
// its child.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kForks = 20 };

static long Faults(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return usage.ru_minflt;
}

static int CountMappings(void) {
  int count = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  for (int c; (c = fgetc(maps)) != EOF;) count += c == '\n';
  fclose(maps);
  return count;
}

static void Await(pid_t child) {
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(1);
}

int main(void) {
  for (int i = 0; i < 10; ++i) poll(NULL, 0, 5);
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  pid_t child = fork();
  if (child == 0) {
    const int count = CountMappings();
    _exit(write(pipes[1], &count, sizeof count) != sizeof count);
  }
  Await(child);
  int mappings;
  if (read(pipes[0], &mappings, sizeof mappings) != sizeof mappings) return 1;

  long parents = 0;
  const long childrens = Faults(RUSAGE_CHILDREN);
  for (int i = 0; i < kForks; ++i) {
    const long before = Faults(RUSAGE_THREAD);
    child = fork();
    if (child == 0) _exit(0);
    parents += Faults(RUSAGE_THREAD) - before;
    Await(child);
  }
  printf("%d %ld %ld\n", mappings, parents / kForks, (Faults(RUSAGE_CHILDREN) - childrens) / kForks);
  fflush(stdout);

  // Its hooks work on memory that no handler has seen to.
  child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) {
    for (int i = 0; i < 10; ++i) poll(NULL, 0, 1);
    _exit(0);
  }
  Await(child);
  return 0;
}
