// SPDX-License-Identifier: Apache-2.0
// A program with two hearts: the main thread polls its input for 2 ms again and again, another thread sleeps
// for 1 ms. To "gap" it answers with the longest time by which a beat was late since the last answer, in
// microseconds, and the longest without the time in which it waited for a processor. It also prints "ready".
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static atomic_long g_latest_us;
static atomic_long g_stopped_us;

struct Moment {
  long now_us;
  long queued_us;  // since the thread's start: waits for a processor
};

struct Heart {
  long period_us;
  struct Moment last;
  int schedstat;
};

static long NowUs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static long QueuedUs(int schedstat) {
  char text[128] = "";
  long run_ns = 0;
  long queued_ns = 0;
  if (pread(schedstat, text, sizeof text - 1, 0) > 0) sscanf(text, "%ld %ld", &run_ns, &queued_ns);
  return queued_ns / 1000;
}

// Both at the same moment: no wait for a processor came in between.
static struct Moment Now(int schedstat) {
  struct Moment moment;
  do {
    moment.queued_us = QueuedUs(schedstat);
    moment.now_us = NowUs();
  } while (QueuedUs(schedstat) != moment.queued_us);
  return moment;
}

static void Raise(atomic_long* most, long value) {
  long known = atomic_load(most);
  while (value > known && !atomic_compare_exchange_weak(most, &known, value)) {
  }
}

static struct Heart Begin(long period_us) {
  struct Heart heart = {.period_us = period_us, .schedstat = open("/proc/thread-self/schedstat", O_RDONLY)};
  heart.last = Now(heart.schedstat);
  return heart;
}

static void Beat(struct Heart* heart) {
  const struct Moment moment = Now(heart->schedstat);
  const long late_us = moment.now_us - heart->last.now_us - heart->period_us;
  Raise(&g_latest_us, late_us);
  Raise(&g_stopped_us, late_us - (moment.queued_us - heart->last.queued_us));
  heart->last = moment;
}

static void* Sleep(void* context) {
  const struct timespec period = {.tv_nsec = 1000000};
  for (struct Heart heart = Begin(1000);; Beat(&heart)) nanosleep(&period, NULL);
  return context;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, &Sleep, NULL);
  puts("ready");
  fflush(stdout);
  char line[16];
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  for (struct Heart heart = Begin(2000);; Beat(&heart)) {
    if (poll(&input, 1, 2) == 0) continue;
    if (read(STDIN_FILENO, line, sizeof line) <= 0) return 0;
    printf("%ld %ld\n", atomic_exchange(&g_latest_us, 0), atomic_exchange(&g_stopped_us, 0));
    fflush(stdout);
  }
}
