// SPDX-License-Identifier: Apache-2.0
// A heap of the program. It takes its lock only in threads that the program started, and ends the process
// when another thread enters it, or when a thread enters it twice: in a signal handler, for example.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/hosts/random/random.h"

enum { kClasses = 40 };
static char* chunk;
static size_t chunk_left;
static void* free_blocks[kClasses];  // of 16 << class bytes
static volatile int lock;
static volatile long inside;  // the thread

static void End(const char* why) {
  syscall(SYS_write, 1, why, strlen(why));
  syscall(SYS_exit_group, 70);
}
static void Enter(void) {
  const long thread = syscall(SYS_gettid);
  if (!IsProgramThread()) End("another thread is in the heap\n");
  if (inside == thread) End("the heap is entered twice\n");
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) != 0) syscall(SYS_sched_yield);
  inside = thread;
}
static void Leave(void) {
  inside = 0;
  __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

// In front of each block are its class and its distance from the begin.
struct Head {
  uint32_t class_number;
  uint32_t offset;
};
static int ClassOf(size_t size) {
  int class_number = 0;
  while (((size_t)16 << class_number) < size) ++class_number;
  return class_number;
}
static char* Carve(size_t size) {
  enum { kChunk = 1 << 20 };
  if (size > chunk_left) {
    const size_t wanted = size > kChunk ? size : kChunk;
    const long memory =
        syscall(SYS_mmap, 0, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == -1) End("no memory\n");
    if (wanted == size) return (char*)memory;
    chunk = (char*)memory;
    chunk_left = wanted;
  }
  chunk_left -= size;
  chunk += size;
  return chunk - size;
}
static void* Take(size_t alignment, size_t size) {
  if (size > (size_t)1 << 40) return NULL;
  const int class_number = ClassOf(size + alignment + sizeof(struct Head));
  Enter();
  char* block = free_blocks[class_number];
  if (block != NULL) {
    memcpy(&free_blocks[class_number], block, sizeof(void*));
  } else {
    block = Carve((size_t)16 << class_number);
  }
  Leave();
  char* begin = (char*)(((uintptr_t)block + sizeof(struct Head) + alignment - 1) & ~(alignment - 1));
  const struct Head head = {(uint32_t)class_number, (uint32_t)(begin - block)};
  memcpy(begin - sizeof head, &head, sizeof head);
  return begin;
}

void* malloc(size_t size) { return Take(16, size); }
void free(void* memory) {
  struct Head head;
  if (memory == NULL) return;
  memcpy(&head, (char*)memory - sizeof head, sizeof head);
  char* block = (char*)memory - head.offset;
  Enter();
  memcpy(block, &free_blocks[head.class_number], sizeof(void*));
  free_blocks[head.class_number] = block;
  Leave();
}
void* calloc(size_t count, size_t size) {
  void* memory = malloc(count * size);
  return memory == NULL ? NULL : memset(memory, 0, count * size);
}
void* realloc(void* memory, size_t size) {
  struct Head head;
  void* moved = malloc(size);
  if (memory == NULL || moved == NULL) return moved;
  memcpy(&head, (char*)memory - sizeof head, sizeof head);
  const size_t old_size = ((size_t)16 << head.class_number) - head.offset;
  memcpy(moved, memory, old_size < size ? old_size : size);
  free(memory);
  return moved;
}
void* aligned_alloc(size_t alignment, size_t size) { return Take(alignment < 16 ? 16 : alignment, size); }
void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = aligned_alloc(alignment, size);
  return 0;
}
