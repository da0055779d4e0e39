// SPDX-License-Identifier: Apache-2.0
// Functions that the code and the C++ runtime of this library call by names that the program may define, too.
// They are hidden here: the linker binds this library's calls to them, and those of no other module.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "sdk/preload/own/own_heap.h"

#define LAGWATCH_HIDDEN_AS(name) __asm__(name) __attribute__((visibility("hidden")))

namespace {

using lagwatch::sdk::OwnHeap;

void* OrNoMemory(void* memory) {
  if (memory == nullptr) errno = ENOMEM;
  return memory;
}

}  // namespace

extern "C" {

void* LagwatchMalloc(size_t bytes) LAGWATCH_HIDDEN_AS("malloc");
void* LagwatchCalloc(size_t count, size_t bytes) LAGWATCH_HIDDEN_AS("calloc");
void* LagwatchRealloc(void* memory, size_t bytes) LAGWATCH_HIDDEN_AS("realloc");
void* LagwatchAlignedAlloc(size_t alignment, size_t bytes) LAGWATCH_HIDDEN_AS("aligned_alloc");
int LagwatchPosixMemalign(void** memory, size_t alignment, size_t bytes) LAGWATCH_HIDDEN_AS("posix_memalign");
void LagwatchFree(void* memory) LAGWATCH_HIDDEN_AS("free");
const char* LagwatchGettext(const char* text) LAGWATCH_HIDDEN_AS("gettext");
const char* LagwatchStrerror(int error) LAGWATCH_HIDDEN_AS("strerror");

void* LagwatchMalloc(size_t bytes) { return OrNoMemory(OwnHeap::Allocate(bytes)); }

void* LagwatchCalloc(size_t count, size_t bytes) {
  size_t all_bytes;
  if (__builtin_mul_overflow(count, bytes, &all_bytes)) return OrNoMemory(nullptr);
  return OrNoMemory(OwnHeap::AllocateZeroed(all_bytes));
}

void* LagwatchRealloc(void* memory, size_t bytes) { return OrNoMemory(OwnHeap::Resize(memory, bytes)); }

void* LagwatchAlignedAlloc(size_t alignment, size_t bytes) {
  return OrNoMemory(OwnHeap::AllocateAligned(alignment, bytes));
}

int LagwatchPosixMemalign(void** memory, size_t alignment, size_t bytes) {
  void* aligned = OwnHeap::AllocateAligned(alignment, bytes);
  if (aligned == nullptr) return ENOMEM;
  *memory = aligned;
  return 0;
}

void LagwatchFree(void* memory) { OwnHeap::Free(memory); }

// Texts of the C++ runtime's exceptions. To translate them, the C library would load catalogs into the
// program's heap.
const char* LagwatchGettext(const char* text) { return text; }

const char* LagwatchStrerror(int error) {
  const char* text = strerrordesc_np(error);
  return text == nullptr ? "Unknown error" : text;
}

}  // extern "C"
