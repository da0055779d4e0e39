// SPDX-License-Identifier: Apache-2.0
// A program that is in the state that its argument names, for ever. It says "begun" when it is there.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static volatile unsigned long sink;

static void Say(void) {
  puts("begun");
  fflush(stdout);
}

__attribute__((noinline)) static void KeepLock(void) {
  pthread_mutex_lock(&first);
  Say();
  for (;;) pause();
}

__attribute__((noinline)) static void* Keep(void* argument) {
  prctl(PR_SET_NAME, "keeper");
  KeepLock();
  return argument;
}

__attribute__((noinline)) static void TakeLock(void) {
  pthread_t keeper;
  pthread_create(&keeper, NULL, &Keep, NULL);
  usleep(200000);
  pthread_mutex_lock(&first);
}

// As a run time does that looks for signals now and then.
__attribute__((noinline)) static void RetryLock(void) {
  pthread_t keeper;
  pthread_create(&keeper, NULL, &Keep, NULL);
  usleep(200000);
  for (;;) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_timedlock(&first, &until);
  }
}

__attribute__((noinline)) static void* TakeSecondFirst(void* argument) {
  prctl(PR_SET_NAME, "auditor");
  pthread_mutex_lock(&second);
  usleep(200000);
  pthread_mutex_lock(&first);
  return argument;
}

__attribute__((noinline)) static void TakeBoth(void) {
  pthread_t auditor;
  pthread_mutex_lock(&first);
  pthread_create(&auditor, NULL, &TakeSecondFirst, NULL);
  usleep(200000);
  Say();
  pthread_mutex_lock(&second);
}

__attribute__((noinline)) static void Compute(void) {
  Say();
  for (;;) ++sink;
}

__attribute__((noinline)) static void AwaitChild(void) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("sleep", "sleep", "600", (char*)NULL);
    _exit(1);
  }
  Say();
  waitpid(child, NULL, 0);
}

static void AwaitEvents(void) {
  const int loop = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = eventfd(0, 0)};
  epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
  event.data.fd = STDIN_FILENO;
  epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
  Say();
  for (;;) epoll_wait(loop, &event, 1, -1);
}

__attribute__((noinline)) static void* AwaitWork(void* argument) {
  pthread_mutex_lock(&work);
  for (;;) pthread_cond_wait(&has_work, &work);
  return argument;
}

// Another thread could give the signal.
static void AwaitSignal(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &Keep, NULL);
  AwaitWork(NULL);
}

// A server with 40 workers that have nothing to do.
static void AwaitEventsWithWorkers(void) {
  pthread_t worker;
  for (int i = 0; i < 40; ++i) pthread_create(&worker, NULL, &AwaitWork, NULL);
  usleep(100000);
  AwaitEvents();
}

// A worker of its waits for the lock of another one; the loop has nothing to do.
__attribute__((noinline)) static void* TakeLockBeside(void* argument) {
  usleep(200000);
  pthread_mutex_lock(&first);
  return argument;
}

__attribute__((noinline)) static void* KeepQuietly(void* argument) {
  pthread_mutex_lock(&first);
  for (;;) pause();
  return argument;
}

static void AwaitEventsBesideAHeldWorker(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &KeepQuietly, NULL);
  pthread_create(&thread, NULL, &TakeLockBeside, NULL);
  AwaitEvents();
}

// Its loop always has an event.
static void Serve(void) {
  const int loop = epoll_create1(0);
  const int descriptor = eventfd(1, 0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
  epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);
  Say();
  for (;;) {
    eventfd_t count;
    epoll_wait(loop, &event, 1, -1);
    eventfd_read(descriptor, &count);
    for (int i = 0; i < 100000; ++i) ++sink;
    eventfd_write(descriptor, 1);
  }
}

// Ends in another thread than the main one, by a write to where there is no memory.
__attribute__((noinline)) static void* WriteNowhere(void* argument) {
  usleep(200000);
  *(volatile int*)16 = 1;
  return argument;
}

static void Crash(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &WriteNowhere, NULL);
  Say();
  for (;;) pause();
}

__attribute__((noinline)) static void GiveUp(void) {
  Say();
  abort();
}

static void LeaveZombie(void) {
  const pid_t child = fork();
  if (child == 0) _exit(3);
  usleep(100000);
  printf("begun %d\n", child);
  fflush(stdout);
  for (;;) pause();
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kStates[] = {{"lock", TakeLock},
                 {"deadlock", TakeBoth},
                 {"compute", Compute},
                 {"child", AwaitChild},
                 {"idle", AwaitEvents},
                 {"workers", AwaitEventsWithWorkers},
                 {"serve", Serve},
                 {"zombie", LeaveZombie},
                 {"retry", RetryLock},
                 {"signal", AwaitSignal},
                 {"crash", Crash},
                 {"abort", GiveUp},
                 {"held-worker", AwaitEventsBesideAHeldWorker}};
  for (size_t i = 0; argc > 1 && i < sizeof kStates / sizeof kStates[0]; ++i)
    if (strcmp(argv[1], kStates[i].name) == 0) kStates[i].run();
  return 2;
}
