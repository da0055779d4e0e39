// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled in a wait, or leave it by a jump.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static int cleanups;
static void NoteCleanup(void* unused) { ++cleanups; }
static void PollInCleanup(void* unused) {
  Tick(10);
  NoteCleanup(unused);
}

enum Wait { kPoll, kPpoll, kSelect, kPselect, kEpoll, kEpollPwait, kSleep, kSemaphore, kRead };
struct Victim {
  enum Wait wait;
  int is_asynchronous;
  int polls_in_cleanup;
};

static void WaitForEver(enum Wait wait) {
  const struct timespec day = {86400, 0};
  struct epoll_event event;
  int pipe_ends[2];
  sem_t semaphore;
  char byte;
  switch (wait) {
    case kPoll:
      poll(NULL, 0, -1);
      break;
    case kPpoll:
      ppoll(NULL, 0, NULL, NULL);
      break;
    case kSelect:
      select(0, NULL, NULL, NULL, NULL);
      break;
    case kPselect:
      pselect(0, NULL, NULL, NULL, NULL, NULL);
      break;
    case kEpoll:
      epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1);
      break;
    case kEpollPwait:
      epoll_pwait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1, NULL);
      break;
    case kSleep:
      nanosleep(&day, NULL);
      break;
    case kSemaphore:
      sem_init(&semaphore, 0, 0);
      sem_wait(&semaphore);
      break;
    case kRead:
      if (pipe(pipe_ends) == 0 && read(pipe_ends[0], &byte, 1) < 0) perror("read");
      break;
  }
}

static void* BeCancelled(void* argument) {
  const struct Victim* victim = argument;
  if (victim->is_asynchronous) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  Tick(5);
  Tick(5);
  pthread_cleanup_push(victim->polls_in_cleanup ? PollInCleanup : NoteCleanup, NULL);
  for (;;) WaitForEver(victim->wait);
  pthread_cleanup_pop(0);
  return NULL;
}

static int CancelThreads(enum Wait wait, int is_asynchronous, int polls_in_cleanup) {
  struct Victim victim = {wait, is_asynchronous, polls_in_cleanup};
  BeginLoop();
  for (int i = 0; i < 3; ++i) {
    void* result = NULL;
    const pthread_t thread = StartThread(BeCancelled, &victim);
    PauseMs(50);
    Tick(1);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled %d, cleanups %d\n", result == PTHREAD_CANCELED, cleanups);
  }
  Tick(1);
  return HangOnce();
}

#define CANCEL_HOST(Name, wait, is_asynchronous, polls_in_cleanup) \
  static int Name(void) { return CancelThreads(wait, is_asynchronous, polls_in_cleanup); }
CANCEL_HOST(CancelPoll, kPoll, 0, 0)
CANCEL_HOST(CancelPpoll, kPpoll, 0, 0)
CANCEL_HOST(CancelSelect, kSelect, 0, 0)
CANCEL_HOST(CancelPselect, kPselect, 0, 0)
CANCEL_HOST(CancelEpoll, kEpoll, 0, 0)
CANCEL_HOST(CancelEpollPwait, kEpollPwait, 0, 0)
CANCEL_HOST(CancelSleep, kSleep, 0, 0)
CANCEL_HOST(CancelSemaphore, kSemaphore, 0, 0)
CANCEL_HOST(CancelRead, kRead, 0, 0)
CANCEL_HOST(CancelAsynchronously, kPoll, 1, 0)
CANCEL_HOST(CancelIntoPoll, kEpoll, 0, 1)

static sigjmp_buf jump_target;
static void JumpOut(int signal_number) { siglongjmp(jump_target, 1); }
static void* AlarmMain(void* main_thread) {
  PauseMs(100);
  pthread_kill(*(pthread_t*)main_thread, SIGUSR1);
  return NULL;
}

// A thread that left a wait by a jump goes on as a loop.
static int JumpOutOfWait(void) {
  pthread_t self = pthread_self();
  signal(SIGUSR1, JumpOut);
  BeginLoop();
  const pthread_t thread = StartThread(AlarmMain, &self);
  if (sigsetjmp(jump_target, 1) == 0) poll(NULL, 0, -1);
  pthread_join(thread, NULL);
  BeginLoop();
  HangOnce();
  return Done();
}

// At any moment, also while the thread is new.
static void* PollAsynchronously(void* unused) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) Tick(0);
}
static int CancelOften(void) {
  enum { kThreads = 3000 };
  int cancelled = 0;
  for (int i = 0; i < kThreads; ++i) {
    void* result = NULL;
    const pthread_t thread = StartThread(PollAsynchronously, NULL);
    for (volatile int pause = 0; pause < i % 100 * 300; ++pause) {
    }
    pthread_cancel(thread);
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("cancelled %d\n", cancelled);
  return 3;
}

const struct Host kCancellationHosts[] = {
    {"cancel_often", CancelOften, "", "all"},
    {"cancel_poll", CancelPoll, "HangComputing", "all"},
    {"cancel_ppoll", CancelPpoll, "HangComputing", ""},
    {"cancel_select", CancelSelect, "HangComputing", ""},
    {"cancel_pselect", CancelPselect, "HangComputing", ""},
    {"cancel_epoll_wait", CancelEpoll, "HangComputing", "all"},
    {"cancel_epoll_pwait", CancelEpollPwait, "HangComputing", ""},
    {"cancel_nanosleep", CancelSleep, "HangComputing", ""},
    {"cancel_sem_wait", CancelSemaphore, "HangComputing", "hooks"},
    {"cancel_read", CancelRead, "HangComputing", "hooks"},
    {"cancel_asynchronously", CancelAsynchronously, "HangComputing", ""},
    {"cancel_into_poll", CancelIntoPoll, "HangComputing", "all"},
    {"jump_out_of_poll", JumpOutOfWait, "HangComputing", ""},
    {NULL, NULL, NULL, NULL},
};
