// SPDX-License-Identifier: Apache-2.0
// A program with a loop; statically linked, nothing can be preloaded into it.
//
// Usage: watched_program SCENE [SECONDS [LENGTH]]. Its loop is idle for so long (default: 1), then comes the scene,
// after which it prints "done" and ends:
//   sleeps      a handler sleeps for LENGTH (default: 1.2 s)
//   computes    a handler computes for 1.2 s
//   single      the loop waits for one descriptor alone (for 2.5 s); a handler waits 1.2 s for a child
//   pauses      a handler computes and sleeps in turns for 1.6 s
//   rests       a handler sleeps for 1.6 s, then computes and sleeps in turns for 1.4 s
//   answers     a handler waits 1.2 s for an answer, by another wait than the loop's
//   saturated   for 1.5 s the loop is never idle: each handler takes 5 ms
//   calm        the loop is idle for 1 s
//   locks       a handler waits LENGTH (default: 1.2 s) for a mutex that another thread keeps
//   vforks      a handler waits 1.2 s for a child of vfork(), in the kernel's uninterruptible sleep
//   asks        a handler waits 1.2 s for the answer of another process, by a pair of sockets
//   worker      the loop is a thread's of that name; its handler sleeps for 1.2 s
//   short       the loop waits for 1.5 s more; ten handlers compute for 100 ms each, and print the time in ms
//   stopped     the program stops itself until it is continued
//   interrupted the loop is idle for 3 s in one wait, which the test interrupts
//   pool        two threads serve an epoll in turns of 0.9 s, in which the other one is parked
// Built with LAGWATCH_GO_NOTE it looks like a program in Go.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LAGWATCH_GO_NOTE
__asm__(".pushsection .note.go.buildid,\"a\",%note\n.balign 4\n.long 4, 4, 4\n.ascii \"Go\\0\\0test\"\n.popsection");
#endif

static volatile unsigned long turns;
static int loop_pipe[2];
static int answer_pipe[2];

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static __attribute__((noinline)) void SleepInHandler(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
  ++turns;
}

static __attribute__((noinline)) void ComputeInHandler(double seconds) {
  const double end = Now() + seconds;
  while (Now() < end) ++turns;
}

static __attribute__((noinline)) void PauseInHandler(double seconds) {
  const double end = Now() + seconds;
  while (Now() < end) {
    ComputeInHandler(0.004);
    usleep(2000);
  }
  ++turns;
}

static __attribute__((noinline)) void RestInHandler(void) {
  SleepInHandler(1.6);
  PauseInHandler(1.4);
  ++turns;
}

static __attribute__((noinline)) void AwaitAnswerInHandler(double seconds) {
  struct pollfd answer = {.fd = answer_pipe[0], .events = POLLIN};
  poll(&answer, 1, (int)(seconds * 1000));
  ++turns;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double kept_seconds = 1.2;

static __attribute__((noinline)) void KeepLock(void) {
  pthread_mutex_lock(&mutex);
  SleepInHandler(kept_seconds);
  pthread_mutex_unlock(&mutex);
}

static void* RunKeeper(void* unused) {
  (void)unused;
  KeepLock();
  ++turns;
  return NULL;
}

static __attribute__((noinline)) void LockInHandler(void) {
  pthread_t keeper;
  if (pthread_create(&keeper, NULL, RunKeeper, NULL) != 0) return;
  usleep(50000);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  pthread_join(keeper, NULL);
}

static __attribute__((noinline)) void VforkInHandler(void) {
  const struct timespec time = {1, 200000000};
  const pid_t child = vfork();
  if (child == 0) {
    nanosleep(&time, NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  ++turns;
}

static __attribute__((noinline)) void WaitForChildInHandler(void) {
  const struct timespec time = {1, 200000000};
  const pid_t child = fork();
  if (child == 0) {
    nanosleep(&time, NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  ++turns;
}

static int question_pair[2];

static __attribute__((noinline)) void AnswerLate(void) {
  char byte;
  if (read(question_pair[1], &byte, 1) != 1) _exit(1);
  const struct timespec time = {1, 200000000};
  nanosleep(&time, NULL);
  if (write(question_pair[1], "x", 1) != 1) _exit(1);
  _exit(0);
}

static void StartAnswering(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, question_pair) != 0) exit(2);
  if (fork() == 0) {
    close(question_pair[0]);
    prctl(PR_SET_NAME, "answering");
    AnswerLate();
  }
  close(question_pair[1]);
}

static __attribute__((noinline)) void AskInHandler(void) {
  char byte;
  if (write(question_pair[0], "x", 1) != 1 || read(question_pair[0], &byte, 1) != 1) exit(2);
  ++turns;
}

// Two descriptors, as loops have them: the waits of handlers are for others.
static nfds_t loop_descriptors = 2;

static void RunLoop(double seconds) {
  const double end = Now() + seconds;
  while (Now() < end) {
    struct pollfd waited[2] = {{.fd = loop_pipe[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = 0}};
    poll(waited, loop_descriptors, 20);
    ++turns;
  }
}

static void RunSaturated(double seconds) {
  const double end = Now() + seconds;
  if (write(loop_pipe[1], "x", 1) != 1) return;
  while (Now() < end) {
    struct pollfd waited[2] = {{.fd = loop_pipe[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = 0}};
    poll(waited, 2, 20);
    ComputeInHandler(0.005);
  }
  char byte;
  if (read(loop_pipe[0], &byte, 1) != 1) ++turns;
}

static void RunShort(void) {
  RunLoop(1.5);
  for (int i = 0; i < 10; ++i) {
    RunLoop(0.15);
    const double begin = Now();
    ComputeInHandler(0.1);
    printf("short %.3f\n", (Now() - begin) * 1000);
  }
}

static void* RunWorker(void* unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "worker");
  RunLoop(1.0);
  SleepInHandler(1.2);
  RunLoop(0.3);
  return NULL;
}

static void RunInterrupted(void) {
  struct pollfd waited[2] = {{.fd = loop_pipe[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = 0}};
  poll(waited, loop_descriptors, 3000);
}

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t is_free;
  int is_served;
  int epoll;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, -1};

static __attribute__((noinline)) void ParkUntilFree(void) {
  pthread_mutex_lock(&pool.mutex);
  while (pool.is_served) pthread_cond_wait(&pool.is_free, &pool.mutex);
  pool.is_served = 1;
  pthread_mutex_unlock(&pool.mutex);
}

static void* ServePool(void* unused) {
  (void)unused;
  for (int turn = 0; turn < 3; ++turn) {
    ParkUntilFree();
    struct epoll_event event;
    for (int i = 0; i < 45; ++i) epoll_wait(pool.epoll, &event, 1, 20);
    pthread_mutex_lock(&pool.mutex);
    pool.is_served = 0;
    pthread_cond_signal(&pool.is_free);
    pthread_mutex_unlock(&pool.mutex);
    usleep(1000);
  }
  return NULL;
}

static void RunPool(void) {
  pthread_t other;
  pool.epoll = epoll_create1(0);
  if (pthread_create(&other, NULL, ServePool, NULL) != 0) exit(2);
  ServePool(NULL);
  pthread_join(other, NULL);
}

int main(int argc, char** argv) {
  if (argc < 2 || pipe(loop_pipe) != 0 || pipe(answer_pipe) != 0) return 2;
  const int asks = strcmp(argv[1], "asks") == 0;
  if (asks) StartAnswering();
  printf("begun\n");
  fflush(stdout);
  if (strcmp(argv[1], "worker") == 0) {
    pthread_t worker;
    if (pthread_create(&worker, NULL, RunWorker, NULL) == 0) pthread_join(worker, NULL);
    return 0;
  }
  const char* scene = argv[1];
  if (strcmp(scene, "pool") == 0) {
    RunPool();
    printf("done\n");
    return 0;
  }
  if (strcmp(scene, "single") == 0) loop_descriptors = 1;
  RunLoop(argc > 2 ? atof(argv[2]) : loop_descriptors == 1 ? 2.5 : 1.0);
  if (strcmp(scene, "sleeps") == 0) SleepInHandler(argc > 3 ? atof(argv[3]) : 1.2);
  if (strcmp(scene, "computes") == 0) ComputeInHandler(1.2);
  if (strcmp(scene, "pauses") == 0) PauseInHandler(1.6);
  if (strcmp(scene, "rests") == 0) RestInHandler();
  if (strcmp(scene, "answers") == 0) AwaitAnswerInHandler(1.2);
  if (strcmp(scene, "saturated") == 0) RunSaturated(1.5);
  if (asks) AskInHandler();
  if (strcmp(scene, "vforks") == 0) VforkInHandler();
  if (argc > 3) kept_seconds = atof(argv[3]);
  if (strcmp(scene, "locks") == 0) LockInHandler();
  if (strcmp(scene, "single") == 0) WaitForChildInHandler();
  if (strcmp(scene, "short") == 0) RunShort();
  if (strcmp(scene, "calm") == 0) RunLoop(1.0);
  if (strcmp(scene, "stopped") == 0) raise(SIGSTOP);
  if (strcmp(scene, "interrupted") == 0) RunInterrupted();
  RunLoop(0.5);
  printf("done\n");
  return 0;
}
