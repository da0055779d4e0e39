// SPDX-License-Identifier: Apache-2.0
// Scheduling policies, and namespaces of a program and of its children.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

static volatile int is_over;
static pthread_t worker;
// Urgent for a moment, again and again.
static void* WorkUrgently(void* unused) {
  while (!is_over) {
    Compute(1);
    PauseMs(20);
  }
  return unused;
}
static int SetPolicy(pthread_t thread, uint32_t which) {
  static const int kPolicies[] = {SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_OTHER,
                                  SCHED_RR | SCHED_RESET_ON_FORK};
  const struct sched_param priority = {.sched_priority = which == 2 || which == 3 ? 0 : 1 + (int)Random(50)};
  return pthread_setschedparam(thread, kPolicies[which], &priority);
}
static void BeginPriorities(void) {
  worker = StartThread(WorkUrgently, NULL);
  printf("policies %d", SetPolicy(worker, Random(2)));
  printf(" %d\n", Random(2) != 0 ? SetPolicy(pthread_self(), Random(2)) : 0);
}
static int ChangePriority(void) {
  int policy = 0;
  struct sched_param priority = {0};
  const int result = SetPolicy(Random(2) != 0 ? worker : pthread_self(), Random(5));
  pthread_getschedparam(worker, &policy, &priority);
  const int seen = result * 10000 + policy * 100 + priority.sched_priority;
  pthread_getschedparam(pthread_self(), &policy, &priority);
  return seen * 10000 + policy * 100 + priority.sched_priority;
}
static int EndPriorities(void) {
  is_over = 1;
  return pthread_join(worker, NULL);
}
const struct Ingredient kPriorities = {"priorities", BeginPriorities, ChangePriority, EndPriorities};

static const int kSpaces[] = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWUTS,
                              CLONE_NEWIPC,   CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNS,
                              CLONE_NEWCGROUP};
static int Unshare(void) {
  return unshare(kSpaces[Random(sizeof kSpaces / sizeof *kSpaces)]) == 0 ? 0 : -errno;
}
static void BeginNamespaces(void) {
  if (Random(2) != 0) printf("namespace %d\n", Unshare());
}
// A child of a new process namespace has number 1 there.
static int StartInNewSpace(void) {
  int status = 0;
  if (unshare(CLONE_NEWPID) != 0) return 90;
  const pid_t child = fork();
  if (child == 0) {
    PauseMs(1);
    exit(getpid());
  }
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
static int EnterNamespace(void) {
  int status = 0;
  const uint32_t what = Random(3);
  if (what == 0) return Unshare();
  const pid_t child = fork();
  if (child == 0) exit(what == 1 ? StartInNewSpace() : Unshare() + 50);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
const struct Ingredient kNamespaces = {"namespaces", BeginNamespaces, EnterNamespace, NULL};

// The loop's thread comes before all others of its processor.
static void BeginPinned(void) {
  const struct sched_param priority = {.sched_priority = 50};
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  const int affinity = sched_setaffinity(0, sizeof first, &first);
  printf("pinned %d %d\n", affinity, sched_setscheduler(0, SCHED_FIFO, &priority));
}
const struct Ingredient kPinned = {"pinned", BeginPinned, NULL, NULL};

// The loop runs in a child that is number 1 of its process namespace, with the old /proc.
static void BeginInside(void) {
  int status = 0;
  if (getpid() == 1 || unshare(CLONE_NEWPID) != 0) return;
  const pid_t child = fork();
  if (child == 0) return;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 71);
}
const struct Ingredient kInside = {"inside", BeginInside, NULL, NULL};
