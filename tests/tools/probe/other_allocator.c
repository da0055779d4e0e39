// SPDX-License-Identifier: Apache-2.0
// An allocator that takes the place of the C library's, as jemalloc and tcmalloc do; it gives nothing back.
#include <stdalign.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static alignas(4096) char g_memory[256 << 20];
static size_t g_used;

static void* Take(size_t alignment, size_t size) {
  const size_t header = alignment < 64 ? 64 : alignment;
  const size_t whole = (size + header + 4095) & ~(size_t)4095;
  char* memory = g_memory + __atomic_fetch_add(&g_used, whole, __ATOMIC_RELAXED) + header;
  if (memory + size > g_memory + sizeof g_memory) _exit(99);
  ((size_t*)memory)[-1] = size;
  return memory;
}

void* malloc(size_t size) { return Take(64, size); }
void* calloc(size_t count, size_t size) { return Take(64, count * size); }
void free(void* memory) { (void)memory; }
void* realloc(void* memory, size_t size) {
  if (memory == NULL) return malloc(size);
  const size_t before = ((size_t*)memory)[-1];
  return memcpy(Take(64, size), memory, before < size ? before : size);
}
void* memalign(size_t alignment, size_t size) { return Take(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void* valloc(size_t size) { return Take(4096, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = Take(alignment, size);
  return 0;
}
