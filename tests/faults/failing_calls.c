// SPDX-License-Identifier: Apache-2.0
// Preloaded: refuses memory and threads that lagwatch's library asks for, and it alone.
//
//   FAIL_FROM=N     the first request that fails, from 1; 0: none does
//   FAIL_COUNT=N    how many fail; 0: all that follow, and only requests after the program's first poll()
//   count FAIL_RUNTIME=1  requests of the shared C++ runtime count, too: for a program in C that links the
//   library FAIL_TOLD=FD    the number of requests is written there at the end
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct Code {
  uintptr_t begin, end;
};
static struct {
  struct Code code[4];
  int code_count;
  long from, count;
  int is_runtime_meant;
  int told_fd;
} g_plan;
static atomic_long g_requests;
static atomic_int g_counts;

static void* (*g_malloc)(size_t);
static void* (*g_calloc)(size_t, size_t);
static void* (*g_realloc)(void*, size_t);
static int (*g_posix_memalign)(void**, size_t, size_t);
static void* (*g_aligned_alloc)(size_t, size_t);
static void* (*g_mmap)(void*, size_t, int, int, int, off_t);
static void* (*g_mremap)(void*, size_t, size_t, int, void*);
static int (*g_pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// dlsym() may ask for memory before the real functions are known.
static char g_early[65536];
static size_t g_early_size;
static void* EarlyMemory(size_t size) {
  void* memory = g_early + g_early_size;
  g_early_size += (size + 15) & ~(size_t)15;
  return g_early_size <= sizeof g_early ? memory : NULL;
}
static int IsEarly(const void* memory) {
  return (const char*)memory >= g_early && (const char*)memory < g_early + sizeof g_early;
}

static int FindCode(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  (void)data;
  const int is_meant = strstr(info->dlpi_name, "liblagwatch") != NULL ||
                       (g_plan.is_runtime_meant && strstr(info->dlpi_name, "libstdc++") != NULL);
  for (int i = 0; is_meant && i < info->dlpi_phnum && g_plan.code_count < 4; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_X) == 0) continue;
    struct Code* code = &g_plan.code[g_plan.code_count++];
    code->begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    code->end = code->begin + info->dlpi_phdr[i].p_memsz;
  }
  return 0;
}

static long ReadNumber(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

__attribute__((constructor(101))) static void ReadPlan(void) {
  g_plan.from = ReadNumber("FAIL_FROM");
  g_plan.count = ReadNumber("FAIL_COUNT");
  g_plan.told_fd = (int)ReadNumber("FAIL_TOLD");
  g_plan.is_runtime_meant = (int)ReadNumber("FAIL_RUNTIME");
  atomic_store(&g_counts, g_plan.count != 0);
  dl_iterate_phdr(FindCode, NULL);
}

__attribute__((destructor)) static void TellCount(void) {
  if (g_plan.told_fd != 0) dprintf(g_plan.told_fd, "%ld\n", atomic_load(&g_requests));
}

static int Fails(const void* caller) {
  int is_meant = 0;
  for (int i = 0; i < g_plan.code_count; ++i)
    is_meant |= (uintptr_t)caller >= g_plan.code[i].begin && (uintptr_t)caller < g_plan.code[i].end;
  if (!is_meant || !atomic_load(&g_counts)) return 0;
  const long number = atomic_fetch_add(&g_requests, 1) + 1;
  return g_plan.from != 0 && number >= g_plan.from &&
         (g_plan.count == 0 || number < g_plan.from + g_plan.count);
}

// The next definition of a function, looked up at its first use.
static void* Real(void** function, const char* name) {
  if (*function == NULL) *function = dlsym(RTLD_NEXT, name);
  return *function;
}
#define REAL(function, name) ((__typeof__(function))Real((void**)&(function), name))

int poll(struct pollfd* fds, nfds_t count, int timeout_ms) {
  static int (*real)(struct pollfd*, nfds_t, int);
  const int result = REAL(real, "poll")(fds, count, timeout_ms);
  atomic_store(&g_counts, 1);
  return result;
}

void* malloc(size_t size) {
  static __thread int is_finding;
  if (g_malloc == NULL) {
    if (is_finding) return EarlyMemory(size);
    is_finding = 1;
    g_malloc = dlsym(RTLD_NEXT, "malloc");
    is_finding = 0;
  }
  if (!Fails(__builtin_return_address(0))) return g_malloc(size);
  errno = ENOMEM;
  return NULL;
}

void* calloc(size_t count, size_t size) {
  static __thread int is_finding;
  if (g_calloc == NULL) {
    if (is_finding) return EarlyMemory(count * size);
    is_finding = 1;
    g_calloc = dlsym(RTLD_NEXT, "calloc");
    is_finding = 0;
  }
  if (!Fails(__builtin_return_address(0))) return g_calloc(count, size);
  errno = ENOMEM;
  return NULL;
}

void free(void* memory) {
  static void (*real)(void*);
  if (!IsEarly(memory)) REAL(real, "free")(memory);
}

void* realloc(void* memory, size_t size) {
  if (!Fails(__builtin_return_address(0))) return REAL(g_realloc, "realloc")(memory, size);
  errno = ENOMEM;
  return NULL;
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (Fails(__builtin_return_address(0))) return ENOMEM;
  return REAL(g_posix_memalign, "posix_memalign")(memory, alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  if (!Fails(__builtin_return_address(0))) return REAL(g_aligned_alloc, "aligned_alloc")(alignment, size);
  errno = ENOMEM;
  return NULL;
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (!Fails(__builtin_return_address(0)))
    return REAL(g_mmap, "mmap")(address, size, protection, flags, fd, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

void* mremap(void* address, size_t old_size, size_t size, int flags, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, flags);
  void* new_address = __builtin_va_arg(arguments, void*);
  __builtin_va_end(arguments);
  if (!Fails(__builtin_return_address(0)))
    return REAL(g_mremap, "mremap")(address, old_size, size, flags, new_address);
  errno = ENOMEM;
  return MAP_FAILED;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* context) {
  if (Fails(__builtin_return_address(0))) return EAGAIN;
  return REAL(g_pthread_create, "pthread_create")(thread, attributes, run, context);
}
