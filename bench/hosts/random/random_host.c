// SPDX-License-Identifier: Apache-2.0
// The loop of a random host: random_host SEED STEPS INGREDIENT,INGREDIENT… [FIRST_STEP]. With --truth before
// the seed it prints the functions of the hangs that it will plant, and their number.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

// Some begin before others: the first one forks, and the next one blocks signals, also for the threads that
// others start.
static const struct Ingredient* const kIngredients[] = {
    &kInside, &kTakers,     &kExec,      &kFloats,  &kHangs,  &kNames,   &kNamespaces,
    &kPinned, &kPriorities, &kProcesses, &kSignals, &kSystem, &kThreads, &kTimes,
};
enum { kCount = sizeof kIngredients / sizeof *kIngredients, kBegin = -1 };

static char* own_path;
static char* seed_text;
static char* steps_text;
static char* names;
static int current_step;

char** NextArguments(void) {
  static char first_step[16];
  static char* arguments[6];
  snprintf(first_step, sizeof first_step, "%d", current_step + 1);
  char* const next[] = {own_path, seed_text, steps_text, names, first_step, NULL};
  memcpy(arguments, next, sizeof next);
  return arguments;
}

static int IsChosen(const struct Ingredient* ingredient) {
  const size_t size = strlen(ingredient->name);
  for (const char* at = names; (at = strstr(at, ingredient->name)) != NULL; at += size) {
    if ((at == names || at[-1] == ',') && (at[size] == 0 || at[size] == ',')) return 1;
  }
  return 0;
}

// NULL for a step in which nothing happens.
static const struct Ingredient* ChooseStep(uint64_t seed, int step) {
  Reseed(seed, step);
  const struct Ingredient* ingredient = kIngredients[Random(kCount)];
  return ingredient->step != NULL && IsChosen(ingredient) ? ingredient : NULL;
}

// Loops differ in their call and in their descriptors, which steps do not close: they have high numbers.
enum LoopKind { kPollNothing, kPollTwo, kEpollOne, kEpollTwo, kSelectTwo, kPpollNothing, kLoopKinds };
static enum LoopKind loop_kind;
static int loop_fds[3];

// A loop that polls nothing only sleeps, as far as a monitor can see: a place where it sleeps for most of its
// life, too, is where it idles, after two reports (docs/design/waits.md).
static int PrintTruth(uint64_t seed, int steps) {
  const char* planted[64];
  int hangs = 0;
  int expected = 0;
  Reseed(seed, kBegin);
  const enum LoopKind kind = (enum LoopKind)Random(kLoopKinds);
  for (int i = 0; i < steps && hangs < 64; ++i) {
    if (ChooseStep(seed, i) != &kHangs) continue;
    int may_be_idle = 0;
    const char* name = ChooseHang(&may_be_idle);
    int same = 0;
    for (int earlier = 0; earlier < hangs; ++earlier) same += planted[earlier] == name;
    expected += same < 2 || !may_be_idle || (kind != kPollNothing && kind != kPpollNothing);
    printf("%s%s", hangs == 0 ? "" : ",", name);
    planted[hangs++] = name;
  }
  printf("\ttimes=%d\n", expected);
  return 0;
}

static int High(int fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 100);
  close(fd);
  return high;
}

static void OpenLoop(void) {
  loop_kind = (enum LoopKind)Random(kLoopKinds);
  for (int i = 0; i < 2; ++i) loop_fds[i] = High(eventfd(0, 0));
  if (loop_kind != kEpollOne && loop_kind != kEpollTwo) return;
  loop_fds[2] = High(epoll_create1(0));
  for (int i = 0; i < (loop_kind == kEpollOne ? 1 : 2); ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = i}};
    epoll_ctl(loop_fds[2], EPOLL_CTL_ADD, loop_fds[i], &event);
  }
}

static inline __attribute__((always_inline)) void Wait(int ms) {
  struct pollfd polled[2] = {{.fd = loop_fds[0], .events = POLLIN}, {.fd = loop_fds[1], .events = POLLIN}};
  struct timespec time = {0, ms * 1000000L};
  struct timeval short_time = {0, ms * 1000};
  struct epoll_event events[4];
  fd_set set;
  switch (loop_kind) {
    case kPollNothing:
      poll(NULL, 0, ms);
      break;
    case kPollTwo:
      poll(polled, 2, ms);
      break;
    case kEpollOne:
    case kEpollTwo:
      epoll_wait(loop_fds[2], events, 4, ms);
      break;
    case kSelectTwo:
      FD_ZERO(&set);
      FD_SET(loop_fds[0], &set);
      FD_SET(loop_fds[1], &set);
      select(loop_fds[1] + 1, &set, NULL, NULL, &short_time);
      break;
    default:
      ppoll(NULL, 0, &time, NULL);
  }
}

static __attribute__((noinline)) void Step(uint64_t seed) {
  const struct Ingredient* ingredient = ChooseStep(seed, current_step);
  if (ingredient != NULL) printf("%d: %s %d\n", current_step, ingredient->name, ingredient->step());
}

// Once more at the end, so that a hang of the last step is followed by a wait.
static void RunLoop(uint64_t seed, int steps, int first_step) {
  for (uint32_t waits = 1 + Random(14); waits > 0; --waits) Wait(2);
  for (current_step = first_step; current_step < steps; ++current_step) {
    Step(seed);
    Wait(1 + (int)(seed + (uint64_t)current_step) % 3);
  }
  Wait(5);
}

int main(int argument_count, char** arguments) {
  const int is_truth = argument_count > 1 && strcmp(arguments[1], "--truth") == 0;
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argument_count < 4 + is_truth) return 64;
  own_path = arguments[0];
  seed_text = arguments[1 + is_truth];
  steps_text = arguments[2 + is_truth];
  names = arguments[3 + is_truth];
  const uint64_t seed = strtoull(seed_text, NULL, 10);
  const int first_step = argument_count > 4 && !is_truth ? atoi(arguments[4]) : 0;
  if (is_truth) return PrintTruth(seed, atoi(steps_text));

  Reseed(seed, kBegin);
  OpenLoop();
  for (int i = 0; i < kCount; ++i) {
    Reseed(seed, kBegin - i - 1);
    if (kIngredients[i]->begin != NULL && IsChosen(kIngredients[i])) kIngredients[i]->begin();
  }
  Reseed(seed, kBegin);
  RunLoop(seed, atoi(steps_text), first_step);
  for (int i = kCount - 1; i >= 0; --i) {
    if (kIngredients[i]->end != NULL && IsChosen(kIngredients[i]))
      printf("end: %s %d\n", kIngredients[i]->name, kIngredients[i]->end());
  }
  printf("descriptors %d\n", CountDescriptors());
  return 3;
}
