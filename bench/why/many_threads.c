// SPDX-License-Identifier: Apache-2.0
// 204 threads: 200 of them wait for work, two are in a deadlock, one notes the longest gap of a heartbeat of
// 1 ms, and the first one says how long that was, in microseconds, for each line that it reads.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static atomic_long longest_us;

static long NowUs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void* Wait(void* argument) {
  pthread_mutex_lock(&work);
  for (;;) pthread_cond_wait(&has_work, &work);
  return argument;
}

static void* TakeBoth(void* argument) {
  pthread_mutex_lock(argument ? &second : &first);
  usleep(100000);
  pthread_mutex_lock(argument ? &first : &second);
  return argument;
}

static void* Beat(void* argument) {
  for (long before = NowUs();;) {
    usleep(1000);
    const long now = NowUs();
    if (now - before > atomic_load(&longest_us)) atomic_store(&longest_us, now - before);
    before = now;
  }
  return argument;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 200; ++i) pthread_create(&thread, NULL, &Wait, NULL);
  pthread_create(&thread, NULL, &TakeBoth, NULL);
  pthread_create(&thread, NULL, &TakeBoth, &thread);
  pthread_create(&thread, NULL, &Beat, NULL);
  for (char line[16]; fgets(line, sizeof line, stdin) != NULL;) {
    printf("%ld\n", atomic_exchange(&longest_us, 0));
    fflush(stdout);
  }
}
