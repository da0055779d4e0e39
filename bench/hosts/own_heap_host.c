// SPDX-License-Identifier: Apache-2.0
// Programs with a heap of their own, for `scripts/bench hosts`. It has no locks, as in a program of one
// thread, and ends the process when another thread enters it or when it is entered in the middle of a call.
#define _GNU_SOURCE
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char heap[64 << 20] __attribute__((aligned(64)));
static size_t used;
static volatile int is_inside;
static long owner;  // the one thread that may enter

static void End(const char* why) {
  syscall(SYS_write, 1, why, strlen(why));
  syscall(SYS_exit_group, 70);
}

static void Enter(void) {
  const long thread = syscall(SYS_gettid);
  if (owner == 0) owner = thread;
  if (thread != owner) End("another thread is in the heap\n");
  if (is_inside) End("the heap is entered twice\n");
  is_inside = 1;
}

// In front of each block is its size.
static void* Take(size_t alignment, size_t size) {
  Enter();
  const size_t begin = (used + sizeof(size_t) + alignment - 1) & ~(alignment - 1);
  if (begin + size > sizeof heap) End("the heap is full\n");
  for (volatile int i = 0; i < 20; ++i) {
  }
  used = begin + size;
  memcpy(heap + begin - sizeof size, &size, sizeof size);
  is_inside = 0;
  return heap + begin;
}

void* malloc(size_t size) { return Take(16, size); }
void free(void* memory) {
  if (memory == NULL) return;
  Enter();
  is_inside = 0;
}
void* calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void* realloc(void* memory, size_t size) {
  void* moved = malloc(size);
  if (memory == NULL) return moved;
  size_t old_size;
  memcpy(&old_size, (char*)memory - sizeof old_size, sizeof old_size);
  return memcpy(moved, memory, old_size < size ? old_size : size);
}
void* aligned_alloc(size_t alignment, size_t size) { return Take(alignment, size); }
void* memalign(size_t alignment, size_t size) { return Take(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = Take(alignment, size);
  return 0;
}

static void Tick(int ms) { poll(NULL, 0, ms); }
static double NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// Nearly always in the heap.
static __attribute__((noinline)) void HangAllocating(void) {
  const double end_ms = NowMs() + 700;
  while (NowMs() < end_ms) {
    const size_t kept = used;
    for (int i = 0; i < 200; ++i) free(malloc(40));
    used = kept;
  }
}

static int AllocateAlone(void) {
  for (int i = 0; i < 5; ++i) Tick(10);
  for (int i = 0; i < 3; ++i) {
    HangAllocating();
    Tick(10);
  }
  return 3;
}

static int ForkAndAllocateAlone(void) {
  for (int i = 0; i < 5; ++i) Tick(10);
  const pid_t child = fork();
  owner = syscall(SYS_gettid);
  for (int i = 0; i < 5; ++i) Tick(10);
  HangAllocating();
  Tick(10);
  int status = 0;
  if (child != 0) waitpid(child, &status, 0);
  return child == 0 ? 4 : WEXITSTATUS(status) - 1;
}

// By the system call itself, as allocators do that are older than malloc(3).
static int MoveBreak(void) {
  for (int i = 0; i < 5; ++i) Tick(10);
  const long begin = syscall(SYS_brk, 0);
  const double end_ms = NowMs() + 700;
  for (long top = begin; NowMs() < end_ms;) {
    if (syscall(SYS_brk, 0) != top) End("another thread moves the break\n");
    top = syscall(SYS_brk, top == begin ? begin + (1 << 20) : begin);
    if (top != begin) memset((void*)begin, 1, 1 << 20);
    Tick(5);
  }
  HangAllocating();
  Tick(10);
  return 3;
}

// The C library puts them on each thread's stack: a monitor's threads have room for them and for themselves.
static __thread char locals[1 << 20];
static int KeepThreadLocals(void) {
  memset(locals, 1, sizeof locals);
  return AllocateAlone();
}

static const struct {
  const char* name;
  int (*run)(void);
  const char* hangs;
  const char* traits;
} kHosts[] = {
    {"allocate_alone", AllocateAlone, "HangAllocating", "times=3"},
    {"allocate_alone_and_fork", ForkAndAllocateAlone, "HangAllocating", "others"},
    {"keep_thread_locals", KeepThreadLocals, "HangAllocating", "times=3"},
    {"move_break", MoveBreak, "HangAllocating", ""},
};

int main(int argument_count, char** arguments) {
  const char* wanted = argument_count > 1 ? arguments[1] : "--list";
  setvbuf(stdout, NULL, _IONBF, 0);
  for (size_t i = 0; i < sizeof kHosts / sizeof *kHosts; ++i) {
    if (strcmp(wanted, "--list") == 0)
      printf("%s\t%s\t%s\n", kHosts[i].name, kHosts[i].hangs, kHosts[i].traits);
    if (strcmp(wanted, kHosts[i].name) != 0) continue;
    const int code = kHosts[i].run();
    puts("done");
    return code;
  }
  return 0;
}
