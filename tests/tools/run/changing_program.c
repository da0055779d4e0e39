// SPDX-License-Identifier: Apache-2.0
// A program that does not stay as it was found, to attach to. It prints "ready", and "good" at stdin's end.
//
//   changing_program exec   becomes another program of this kind, elsewhere in its memory, at SIGUSR1 or a
//                           line on its input; says "ready" once more
//   changing_program pause  starts threads that sleep in pause(2) until a signal comes, and joins them
//   changing_program fork   starts processes that allocate and load a library, and looks how they end
//   changing_program poll|epoll|sleep  waits by one of these for 1.5 s, and checks that it took so long
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char* g_program[] = {"/proc/self/exe", "exec", NULL};

static void Become(int number) {
  (void)number;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execv(g_program[0], g_program);
}

static void Nothing(int number) { (void)number; }

static void* Pause(void* is_over) {
  while (!*(volatile int*)is_over) pause();
  return is_over;
}

static void End(const char* result) {
  puts(result);
  exit(strcmp(result, "good") == 0 ? 0 : 1);
}

// Returns the number of bytes that came in this time; ends the program at the input's end.
static long ReadFor(int timeout_ms) {
  char line[64];
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  const int ready = poll(&input, 1, timeout_ms);
  if (ready < 0) End("a wait failed");
  const long size = ready == 0 ? 0 : read(STDIN_FILENO, line, sizeof line);
  if (ready > 0 && size <= 0) End("good");
  return size;
}

static void PauseAndJoin(void) {
  volatile int is_over = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, &Pause, (void*)&is_over) != 0) End("a thread could not be started");
  ReadFor(1);
  is_over = 1;
  void* result = NULL;
  int error = ETIMEDOUT;
  for (int i = 0; i < 1000 && error == ETIMEDOUT; ++i) {
    pthread_kill(thread, SIGUSR2);
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += 10000000;
    if (end.tv_nsec >= 1000000000) end.tv_nsec -= 1000000000, ++end.tv_sec;
    error = pthread_timedjoin_np(thread, &result, &end);
  }
  if (error != 0 || result != (void*)&is_over) End("a thread was taken");
}

static void Fork(void) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    free(malloc(100000));
    _exit(dlopen("libm.so.6", RTLD_NOW) == NULL);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) End("a child failed");
  ReadFor(1);
}

// Returns the time that a wait of the main thread took, in milliseconds.
static long Wait(const char* kind, int timeout_ms) {
  struct epoll_event event;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  int result = 0;
  if (strcmp(kind, "poll") == 0)
    result = poll(NULL, 0, timeout_ms);
  else if (strcmp(kind, "epoll") == 0)
    result = epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, timeout_ms);
  else
    result = usleep((useconds_t)timeout_ms * 1000);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (result != 0) End("a wait failed");
  return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

// Not shorter than asked for, and not begun again in the middle.
static void WaitLong(const char* kind) {
  const long lasted_ms = Wait(kind, 1500);
  if (lasted_ms < 1500 - 1) End("a wait was short");
  if (lasted_ms > 2200) End("a wait was long");
  ReadFor(0);
}

int main(int argc, char** argv) {
  const char* scene = argc > 1 ? argv[1] : "exec";
  signal(SIGUSR1, &Become);
  signal(SIGUSR2, &Nothing);
  puts("ready");
  fflush(stdout);
  while (1) {
    if (strcmp(scene, "pause") == 0)
      PauseAndJoin();
    else if (strcmp(scene, "fork") == 0)
      Fork();
    else if (strcmp(scene, "exec") != 0)
      WaitLong(scene);
    else if (ReadFor(2) > 0)
      Become(0);
  }
}
