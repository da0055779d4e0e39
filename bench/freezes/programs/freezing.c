/* SPDX-License-Identifier: Apache-2.0
 * A loop without a run time: freezing FLAG polls every 50 ms; when the file FLAG appears, it freezes for 1.5
 * s in the function of the way that its first word says, and removes it. A thread or
 * process "keeper", in KeepIt(), has what it waits for. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kIn, kOut };

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static char g_path[4096]; /* of a file to lock */
static int g_ready[2];    /* the keeper has it */

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void Rest(void) {
  const struct timespec time = {1, 500000000};
  nanosleep(&time, NULL);
}
__attribute__((noinline)) void KeepIt(void) { Rest(); }

static void SayReady(void) {
  if (write(g_ready[kOut], "x", 1) != 1) exit(1);
}
static void AwaitReady(void) {
  char byte;
  if (read(g_ready[kIn], &byte, 1) != 1) exit(1);
}
static pid_t StartKeeper(void (*work)(int), int argument) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_NAME, "keeper");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  work(argument);
  _exit(0);
}
static void KeepNothing(int unused) {
  (void)unused;
  KeepIt();
}
static void KeepFile(int unused) {
  (void)unused;
  flock(open(g_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX);
  SayReady();
  KeepIt();
}
static void AnswerLate(int end) {
  KeepIt();
  if (write(end, "x", 1) != 1) _exit(1);
}
static void* KeepMutex(void* unused) {
  prctl(PR_SET_NAME, "keeper");
  pthread_mutex_lock(&g_mutex);
  SayReady();
  KeepIt();
  pthread_mutex_unlock(&g_mutex);
  return unused;
}

void FreezeSleep(void) { Rest(); }
void FreezeCompute(void) {
  volatile unsigned long turns = 0;
  for (const double end = Now() + 1.5; Now() < end;) ++turns;
}
void FreezeChild(void) {
  const pid_t child = StartKeeper(KeepNothing, 0);
  waitpid(child, NULL, 0);
}
void FreezeFlock(void) {
  const pid_t child = StartKeeper(KeepFile, 0);
  AwaitReady();
  const int file = open(g_path, O_RDWR | O_CLOEXEC);
  flock(file, LOCK_EX);
  close(file);
  waitpid(child, NULL, 0);
}
void FreezeMutex(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, KeepMutex, NULL) != 0) exit(1);
  AwaitReady();
  pthread_mutex_lock(&g_mutex);
  pthread_mutex_unlock(&g_mutex);
  pthread_join(thread, NULL);
}
void FreezePipe(void) {
  int ends[2];
  char byte;
  if (pipe(ends) != 0) exit(1);
  const pid_t child = StartKeeper(AnswerLate, ends[kOut]);
  close(ends[kOut]);
  if (read(ends[kIn], &byte, 1) != 1) exit(1);
  close(ends[kIn]);
  waitpid(child, NULL, 0);
}
void FreezeSocket(void) {
  int ends[2];
  char byte;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) exit(1);
  const pid_t child = StartKeeper(AnswerLate, ends[1]);
  close(ends[1]);
  if (recv(ends[0], &byte, 1, 0) != 1) exit(1);
  close(ends[0]);
  waitpid(child, NULL, 0);
}

static const struct {
  const char* way;
  void (*freeze)(void);
} kWays[] = {{"sleep", FreezeSleep},  {"compute", FreezeCompute}, {"child", FreezeChild},
             {"flock", FreezeFlock},  {"mutex", FreezeMutex},     {"pipe", FreezePipe},
             {"socket", FreezeSocket}};

int main(int count, char** words) {
  int loop[2];
  if (count != 2 || pipe(loop) != 0 || pipe(g_ready) != 0) return 2;
  snprintf(g_path, sizeof g_path, "%s.lock", words[1]);
  for (;;) {
    struct pollfd waited[2] = {{.fd = loop[kIn], .events = POLLIN}, {.fd = g_ready[kIn], .events = 0}};
    poll(waited, 2, 50);
    FILE* flag = fopen(words[1], "r");
    char way[32] = "";
    if (flag == NULL) continue;
    const int is_read = fscanf(flag, "%31s", way);
    fclose(flag);
    for (size_t i = 0; i < sizeof kWays / sizeof kWays[0]; ++i) {
      if (strcmp(kWays[i].way, way) == 0) kWays[i].freeze();
    }
    if (is_read == 1) unlink(words[1]);
  }
}
