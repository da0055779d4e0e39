// SPDX-License-Identifier: Apache-2.0
// Programs that poll at their start, or run a loop for a while, and then idle in other calls, which is no
// hang. handler_hosts.c has handlers of a loop that wait in the same calls.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static int ends[2];
static int queue;
static int listener;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_done;

static void Ignore(int signal_number) { (void)signal_number; }

// Ends every kind of wait after a while.
static void* EndWaits(void* unused) {
  struct {
    long type;
    char byte;
  } message = {1, 'x'};
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  PauseMs(900);
  if (write(ends[1], "x", 1) != 1) return NULL;
  msgsnd(queue, &message, 1, 0);
  sem_post(&semaphore);
  pthread_mutex_lock(&mutex);
  is_done = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  if (getsockname(listener, (struct sockaddr*)&address, &size) == 0) {
    const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(peer, (struct sockaddr*)&address, size) != 0) perror("connect");
    close(peer);
  }
  kill(getpid(), SIGUSR1);
  return NULL;
}

static pthread_t Begin(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  signal(SIGUSR1, Ignore);
  Checked(pipe(ends), "pipe");
  queue = Checked(msgget(IPC_PRIVATE, 0600), "msgget");
  listener = Checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  Checked(listen(listener, 4), "listen");
  sem_init(&semaphore, 0, 0);
  BeginLoop();
  return StartThread(EndWaits, NULL);
}
static int End(pthread_t thread) {
  pthread_join(thread, NULL);
  msgctl(queue, IPC_RMID, NULL);
  return Done();
}

static int IdleInSuspend(void) {
  sigset_t none;
  const pthread_t thread = Begin();
  sigemptyset(&none);
  sigsuspend(&none);
  return End(thread);
}
static int IdleInSigwait(void) {
  sigset_t set;
  int signal_number = 0;
  const pthread_t thread = Begin();
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigwait(&set, &signal_number);
  return End(thread);
}
static int IdleInJoin(void) { return End(Begin()); }
static int IdleInRead(void) {
  char byte;
  const pthread_t thread = Begin();
  if (read(ends[0], &byte, 1) != 1) return 1;
  return End(thread);
}
static int IdleInAccept(void) {
  const pthread_t thread = Begin();
  close(Checked(accept(listener, NULL, NULL), "accept"));
  return End(thread);
}
static int IdleInMessage(void) {
  struct {
    long type;
    char byte;
  } message;
  const pthread_t thread = Begin();
  Checked((int)msgrcv(queue, &message, 1, 0, 0), "msgrcv");
  return End(thread);
}
static int IdleInSemaphore(void) {
  const pthread_t thread = Begin();
  sem_wait(&semaphore);
  return End(thread);
}
static int IdleInCondition(void) {
  const pthread_t thread = Begin();
  pthread_mutex_lock(&mutex);
  while (!is_done) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return End(thread);
}
static int IdleInWaitpid(void) {
  const pthread_t thread = Begin();
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    PauseMs(900);
    _exit(0);
  }
  WaitFor(child);
  return End(thread);
}

// Those that wake up now and then, each time past the threshold.
static int IdleInSleeps(void) {
  const pthread_t thread = Begin();
  for (int i = 0; i < 4; ++i) PauseMs(400);
  return End(thread);
}
static int IdleInTimedCondition(void) {
  const pthread_t thread = Begin();
  static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  for (int i = 0; i < 4; ++i) {
    const struct timespec then = After(CLOCK_REALTIME, 400);
    pthread_mutex_lock(&mutex);
    if (pthread_cond_timedwait(&never, &mutex, &then) != ETIMEDOUT) return 1;
    pthread_mutex_unlock(&mutex);
  }
  return End(thread);
}
static int IdleInSigtimedwait(void) {
  const struct timespec timeout = {0, 400000000};
  sigset_t set;
  const pthread_t thread = Begin();
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  for (int i = 0; i < 4; ++i) {
    if (sigtimedwait(&set, NULL, &timeout) != -1) return 1;
  }
  return End(thread);
}

// A client that polls its only socket before it reads, often with a timeout and then without.
static int server_end;
static void* Answer(void* unused) {
  for (int i = 0; i < 3; ++i) {
    PauseMs(450);
    if (write(server_end, "x", 1) != 1) return NULL;
  }
  return NULL;
}
static int IdleInRecvOfPolled(void) {
  int sockets[2];
  char byte;
  Checked(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), "socketpair");
  struct pollfd client = {sockets[0], POLLIN, 0};
  server_end = sockets[1];
  for (int i = 0; i < 12; ++i) poll(&client, 1, 5);
  const pthread_t thread = StartThread(Answer, NULL);
  for (int i = 0; i < 3; ++i) {
    if (recv(sockets[0], &byte, 1, 0) != 1) return 1;
    for (int turn = 0; turn < 4; ++turn) poll(&client, 1, 5);
  }
  pthread_join(thread, NULL);
  return Done();
}

// Threads that poll for a while, and then wait for work.
static void* Work(void* unused) {
  BeginLoop();
  pthread_mutex_lock(&mutex);
  while (!is_done) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static int IdleWorkers(void) {
  pthread_t workers[3];
  for (int i = 0; i < 3; ++i) workers[i] = StartThread(Work, NULL);
  PauseMs(900);
  pthread_mutex_lock(&mutex);
  is_done = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 3; ++i) pthread_join(workers[i], NULL);
  return Done();
}

static __attribute__((noinline)) void RunLoop(int turns) {
  struct epoll_event events[128];
  const int epoll = Checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  for (int i = 0; i < turns; ++i) epoll_wait(epoll, events, 128, 5);
  close(epoll);
}
static int IdleAfterLoop(void) {
  const pthread_t thread = Begin();
  RunLoop(30);
  PauseMs(600);
  return End(thread);
}

const struct Host kIdleHosts[] = {
    {"idle_in_sigsuspend", IdleInSuspend, "", ""},
    {"idle_in_sigwait", IdleInSigwait, "", ""},
    {"idle_in_join", IdleInJoin, "", ""},
    {"idle_in_read", IdleInRead, "", ""},
    {"idle_in_accept", IdleInAccept, "", ""},
    {"idle_in_msgrcv", IdleInMessage, "", ""},
    {"idle_in_sem_wait", IdleInSemaphore, "", ""},
    {"idle_in_cond_wait", IdleInCondition, "", ""},
    {"idle_in_waitpid", IdleInWaitpid, "", ""},
    {"idle_in_sleeps", IdleInSleeps, "", ""},
    {"idle_in_timed_cond_wait", IdleInTimedCondition, "", ""},
    {"idle_in_sigtimedwait", IdleInSigtimedwait, "", ""},
    {"idle_in_recv_of_polled", IdleInRecvOfPolled, "", ""},
    {"idle_workers", IdleWorkers, "", "all"},
    {"idle_after_loop", IdleAfterLoop, "", ""},
    {NULL, NULL, NULL, NULL},
};
