// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

constinit RealFunction<void*(size_t)> real_malloc;
constinit RealFunction<void*(size_t, size_t)> real_calloc;
constinit RealFunction<void*(void*, size_t)> real_realloc;
constinit RealFunction<void*(void*, size_t, size_t)> real_reallocarray;
constinit RealFunction<void(void*)> real_free;
constinit RealFunction<void*(size_t, size_t)> real_aligned_alloc;
constinit RealFunction<void*(size_t, size_t)> real_memalign;
constinit RealFunction<int(void**, size_t, size_t)> real_posix_memalign;

void CountAllocation(const void* memory, size_t size_bytes) {
  if (memory == nullptr) return;
  t_slot.allocations += 1;
  t_slot.allocated_bytes += size_bytes;
}

void* HookMalloc(size_t size_bytes) {
  void* memory = real_malloc(size_bytes);
  CountAllocation(memory, size_bytes);
  CaptureOften(CallKind::kAllocation);
  return memory;
}

void* HookCalloc(size_t count, size_t size_bytes) {
  void* memory = real_calloc(count, size_bytes);
  CountAllocation(memory, count * size_bytes);
  CaptureOften(CallKind::kAllocation);
  return memory;
}

void* HookRealloc(void* old, size_t size_bytes) {
  void* memory = real_realloc(old, size_bytes);
  CountAllocation(memory, size_bytes);
  CaptureOften(CallKind::kAllocation);
  return memory;
}

void* HookReallocArray(void* old, size_t count, size_t size_bytes) {
  void* memory = real_reallocarray(old, count, size_bytes);
  CountAllocation(memory, count * size_bytes);
  CaptureOften(CallKind::kAllocation);
  return memory;
}

void HookFree(void* memory) {
  real_free(memory);
  CaptureOften(CallKind::kAllocation);
}

void* HookAlignedAlloc(size_t alignment, size_t size_bytes) {
  void* memory = real_aligned_alloc(alignment, size_bytes);
  CountAllocation(memory, size_bytes);
  CaptureOften(CallKind::kAllocation);
  return memory;
}

void* HookMemalign(size_t alignment, size_t size_bytes) {
  void* memory = real_memalign(alignment, size_bytes);
  CountAllocation(memory, size_bytes);
  CaptureOften(CallKind::kAllocation);
  return memory;
}

int HookPosixMemalign(void** memory, size_t alignment, size_t size_bytes) {
  const int error = real_posix_memalign(memory, alignment, size_bytes);
  if (error == 0) CountAllocation(*memory, size_bytes);
  CaptureOften(CallKind::kAllocation);
  return error;
}

}  // namespace

void AddAllocationHooks(HookTable* table) {
  table->Add(kAllocationHooks, "malloc", HookMalloc, &real_malloc);
  table->Add(kAllocationHooks, "calloc", HookCalloc, &real_calloc);
  table->Add(kAllocationHooks, "realloc", HookRealloc, &real_realloc);
  table->Add(kAllocationHooks, "reallocarray", HookReallocArray, &real_reallocarray);
  table->Add(kAllocationHooks, "free", HookFree, &real_free);
  table->Add(kAllocationHooks, "aligned_alloc", HookAlignedAlloc, &real_aligned_alloc);
  table->Add(kAllocationHooks, "memalign", HookMemalign, &real_memalign);
  table->Add(kAllocationHooks, "posix_memalign", HookPosixMemalign, &real_posix_memalign);
}

}  // namespace lagwatch::trace
