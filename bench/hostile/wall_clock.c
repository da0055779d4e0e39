// SPDX-License-Identifier: Apache-2.0
// Preloaded into a collector: moves its wall clock by the number of seconds in the file that
// LAGWATCH_BENCH_CLOCK names. The other clocks go on.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const volatile int64_t* offset_s;

__attribute__((constructor)) static void Map(void) {
  const char* path = getenv("LAGWATCH_BENCH_CLOCK");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void* memory = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) offset_s = memory;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = next(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME && offset_s != NULL) now->tv_sec += *offset_s;
  return result;
}
