// SPDX-License-Identifier: Apache-2.0
// A loop that freezes once, for early.py:  loop POLL DISPATCH KIND
//
// POLL is how it waits: for `one` descriptor, standard input, for a `socket` or an `event` alone, or for
// `many`. It freezes in its DISPATCH-th turn, in a wait of that KIND, and turns five times more. The freeze
// is ended by a thread or a child of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kFreezeMs = 900, kTurnMs = 10, kTurnsAfter = 5, kOthers = 3 };

static int g_source;    // of the loop's events: standard input,
static int g_ticks[2];  // or [0] of a pair,
static int g_event;     // or an eventfd; else -1
static int g_others[kOthers];
static int g_service[2];
static int g_pipe[2];
static char g_path[] = "/tmp/early_loop.XXXXXX";
static char g_fifo[sizeof g_path + 2];
static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t g_held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t g_barrier;
static sem_t g_ready, g_semaphore, g_freeze;
static int g_is_done, g_queue;

static void Die(const char* why) {
  perror(why);
  exit(2);
}

static void PauseMs(int ms) {
  struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

static int64_t NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Holds the locks meanwhile, and ends every wait.
static void* EndFreeze(void* none) {
  while (sem_wait(&g_freeze) != 0) {
  }
  pthread_rwlock_wrlock(&g_rwlock);
  pthread_mutex_lock(&g_held);
  const int file = open(g_path, O_RDWR | O_CLOEXEC);
  struct flock whole = {.l_type = F_WRLCK};
  flock(file, LOCK_EX);
  fcntl(file, F_OFD_SETLKW, &whole);
  sem_post(&g_ready);
  PauseMs(kFreezeMs);
  pthread_rwlock_unlock(&g_rwlock);
  pthread_mutex_unlock(&g_held);
  close(file);
  pthread_mutex_lock(&g_mutex);
  g_is_done = 1;
  pthread_cond_signal(&g_condition);
  pthread_mutex_unlock(&g_mutex);
  sem_post(&g_semaphore);
  struct msgbuf message = {.mtype = 1};
  msgsnd(g_queue, &message, 1, 0);
  const int fifo = open(g_fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (fifo >= 0) close(fifo);
  if (write(g_service[1], "x", 1) != 1) Die("service");
  kill(getpid(), SIGUSR2);
  return none;
}

// The program that the loop talks to: one event a turn.
static void* Tick(void* none) {
  for (char byte;;) {
    PauseMs(kTurnMs);
    const uint64_t one = 1;
    if (g_event >= 0 ? write(g_event, &one, sizeof one) < 0 : write(g_ticks[1], "x", 1) != 1) return none;
    if (read(g_ticks[1], &byte, 1) != 1) return none;  // its turn is over
  }
}

static void* Drain(void* none) {
  char bytes[70000];
  PauseMs(kFreezeMs);
  while (read(g_pipe[0], bytes, sizeof bytes) > 0) {
  }
  return none;
}

static void* Meet(void* none) {
  PauseMs(kFreezeMs);
  pthread_barrier_wait(&g_barrier);
  return none;
}

static void WaitForChild(void) {
  const pid_t child = fork();
  if (child == 0) {
    PauseMs(kFreezeMs);
    _exit(0);
  }
  while (waitpid(child, NULL, 0) != child) {
  }
}

static void Spin(void) {
  for (const int64_t end = NowMs() + kFreezeMs; NowMs() < end;) {
  }
}

static pthread_t g_helper;

__attribute__((noinline)) void FreezeHere(const char* kind) {
  char byte;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 30;
  struct pollfd answer = {g_service[0], POLLIN, 0};
  if (strcmp(kind, "cpu") == 0) {
    Spin();
  } else if (strcmp(kind, "sleep") == 0) {
    PauseMs(kFreezeMs);
  } else if (strcmp(kind, "usleep") == 0) {
    usleep(kFreezeMs * 1000);
  } else if (strcmp(kind, "sleep-by-poll") == 0) {
    poll(NULL, 0, kFreezeMs);
  } else if (strcmp(kind, "sleep-by-select") == 0) {
    struct timeval rest = {0, kFreezeMs * 1000L};
    select(0, NULL, NULL, NULL, &rest);
  } else if (strcmp(kind, "rdlock") == 0) {
    pthread_rwlock_rdlock(&g_rwlock);
    pthread_rwlock_unlock(&g_rwlock);
  } else if (strcmp(kind, "wrlock") == 0) {
    pthread_rwlock_wrlock(&g_rwlock);
    pthread_rwlock_unlock(&g_rwlock);
  } else if (strcmp(kind, "mutex") == 0) {
    pthread_mutex_lock(&g_held);
    pthread_mutex_unlock(&g_held);
  } else if (strcmp(kind, "flock") == 0) {
    const int file = open(g_path, O_RDWR | O_CLOEXEC);
    while (flock(file, LOCK_EX) != 0) {
    }
    close(file);
  } else if (strcmp(kind, "file-lock") == 0) {
    const int file = open(g_path, O_RDWR | O_CLOEXEC);
    struct flock whole = {.l_type = F_WRLCK};
    while (fcntl(file, F_OFD_SETLKW, &whole) != 0) {
    }
    close(file);
  } else if (strcmp(kind, "child") == 0) {
    WaitForChild();
  } else if (strcmp(kind, "system") == 0) {
    if (system("exec sleep 0.9") != 0) Die("system");
  } else if (strcmp(kind, "output") == 0) {
    FILE* output = popen("sleep 0.9; echo late", "r");
    char text[80];
    if (fgets(text, sizeof text, output) == NULL) Die("popen");
    pclose(output);
  } else if (strcmp(kind, "read") == 0) {
    if (read(g_service[0], &byte, 1) != 1) Die("read");
  } else if (strcmp(kind, "recv") == 0) {
    if (recv(g_service[0], &byte, 1, 0) != 1) Die("recv");
  } else if (strcmp(kind, "answer-by-poll") == 0) {
    if (poll(&answer, 1, 30000) != 1) Die("poll");
  } else if (strcmp(kind, "answer-in-steps") == 0) {
    while (poll(&answer, 1, 100) == 0) {
    }
  } else if (strcmp(kind, "fifo") == 0) {
    const int fifo = open(g_fifo, O_RDONLY | O_CLOEXEC);
    close(fifo);
  } else if (strcmp(kind, "full-pipe") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, Drain, NULL);
    static char bytes[100000];
    if (write(g_pipe[1], bytes, sizeof bytes) != sizeof bytes) Die("write");
    close(g_pipe[1]);
    pthread_join(thread, NULL);
  } else if (strcmp(kind, "condition") == 0) {
    pthread_mutex_lock(&g_mutex);
    while (!g_is_done) pthread_cond_wait(&g_condition, &g_mutex);
    pthread_mutex_unlock(&g_mutex);
  } else if (strcmp(kind, "timed-condition") == 0) {
    pthread_mutex_lock(&g_mutex);
    while (!g_is_done) pthread_cond_timedwait(&g_condition, &g_mutex, &until);
    pthread_mutex_unlock(&g_mutex);
  } else if (strcmp(kind, "semaphore") == 0) {
    while (sem_wait(&g_semaphore) != 0) {
    }
  } else if (strcmp(kind, "barrier") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, Meet, NULL);
    pthread_barrier_wait(&g_barrier);
    pthread_join(thread, NULL);
  } else if (strcmp(kind, "join") == 0) {
    pthread_join(g_helper, NULL);
  } else if (strcmp(kind, "timer") == 0) {
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct itimerspec once = {.it_value = {0, kFreezeMs * 1000000L}};
    uint64_t count;
    timerfd_settime(timer, 0, &once, NULL);
    if (read(timer, &count, sizeof count) != sizeof count) Die("timerfd");
    close(timer);
  } else if (strcmp(kind, "message") == 0) {
    struct msgbuf message;
    while (msgrcv(g_queue, &message, 1, 0, 0) != 1) {
    }
  } else if (strcmp(kind, "signal") == 0) {
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGUSR2);
    int number;
    sigwait(&taken, &number);
  } else {
    Die("kind");
  }
  __asm__ volatile("");
}

// Waits for the next event, as `how` says.
__attribute__((noinline)) static void Turn(const char* how, int epoll) {
  const int source = g_source;
  const int is_many = strstr(how, "many") != NULL;
  int count;
  do {
    if (strncmp(how, "poll", 4) == 0) {
      struct pollfd set[1 + kOthers] = {{source, POLLIN, 0}};
      for (int i = 0; i < kOthers; ++i) set[i + 1] = (struct pollfd){g_others[i], POLLIN, 0};
      count = poll(set, is_many ? 1 + kOthers : 1, -1);
    } else if (strncmp(how, "select", 6) == 0) {
      fd_set set;
      FD_ZERO(&set);
      FD_SET(source, &set);
      int highest = source;
      for (int i = 0; is_many && i < kOthers; ++i) {
        FD_SET(g_others[i], &set);
        if (g_others[i] > highest) highest = g_others[i];
      }
      count = select(highest + 1, &set, NULL, NULL, NULL);
    } else {
      struct epoll_event events[8];
      count = epoll_wait(epoll, events, 8, -1);
    }
  } while (count < 0 && errno == EINTR);
  if (count < 1) Die(how);
  uint64_t number;
  if (read(source, &number, g_event >= 0 ? sizeof number : 1) < 1) Die("event");
}

int main(int argument_count, char** arguments) {
  if (argument_count != 4) return 2;
  const char* how = arguments[1];
  const int dispatch = atoi(arguments[2]);
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGUSR2);
  sigprocmask(SIG_BLOCK, &taken, NULL);
  close(mkstemp(g_path));
  snprintf(g_fifo, sizeof g_fifo, "%s.f", g_path);
  if (mkfifo(g_fifo, 0600) != 0 || pipe2(g_pipe, O_CLOEXEC) != 0) Die("pipe");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, g_ticks) != 0) Die("socketpair");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, g_service) != 0) Die("socketpair");
  for (int i = 0; i < kOthers; ++i) g_others[i] = eventfd(0, EFD_CLOEXEC);
  g_event = strstr(how, "event") != NULL ? eventfd(0, EFD_CLOEXEC) : -1;
  g_source = strstr(how, "one") != NULL ? STDIN_FILENO : g_event >= 0 ? g_event : g_ticks[0];
  g_queue = msgget(IPC_PRIVATE, 0600);
  pthread_barrier_init(&g_barrier, NULL, 2);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(epoll, EPOLL_CTL_ADD, g_source, &event);
  for (int i = 0; strstr(how, "many") != NULL && i < kOthers; ++i)
    epoll_ctl(epoll, EPOLL_CTL_ADD, g_others[i], &event);
  pthread_t ticker;
  pthread_create(&ticker, NULL, Tick, NULL);
  pthread_create(&g_helper, NULL, EndFreeze, NULL);
  for (int i = 1; i <= dispatch + kTurnsAfter; ++i) {
    Turn(how, epoll);
    if (i == dispatch) {
      sem_post(&g_freeze);
      while (sem_wait(&g_ready) != 0) {
      }
      FreezeHere(arguments[3]);
    }
    if (write(g_ticks[0], "x", 1) != 1) Die("tick");
  }
  msgctl(g_queue, IPC_RMID, NULL);
  unlink(g_path);
  unlink(g_fifo);
  puts("good");
  return 0;
}
