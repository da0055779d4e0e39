// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include "stack/darwin/suspended_copy.h"

namespace lagwatch::stack {
namespace {

// The memory around a thread's stack pointer, up to the end of its mapping.
bool FindLiveStack(uint64_t stack_pointer, MemoryRegion* live) {
  vm_address_t begin = stack_pointer;
  vm_size_t size_bytes = 0;
  vm_region_basic_info_data_64_t info;
  mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
  mach_port_t object = MACH_PORT_NULL;
  if (vm_region_64(mach_task_self(), &begin, &size_bytes, VM_REGION_BASIC_INFO_64,
                   reinterpret_cast<vm_region_info_t>(&info), &count, &object) != KERN_SUCCESS ||
      begin > stack_pointer) {  // the next one
    return false;
  }
  const uint64_t red_zone = stack_pointer - kRedZoneBytes;
  *live = {red_zone > begin ? red_zone : begin, begin + size_bytes};
  return true;
}

bool CopyStack(uint32_t thread_port, RawStack* raw) {
  MemoryRegion live;
  if (!ReadSuspendedRegisters(thread_port, &raw->registers) ||
      !FindLiveStack(raw->registers.stack_pointer(), &live)) {
    return false;
  }
  raw->address = live.begin;
  raw->end = live.end;
  const uint64_t live_bytes = live.end - live.begin;
  vm_size_t copied_bytes = 0;
  const bool is_copied =
      vm_read_overwrite(mach_task_self(), live.begin,
                        live_bytes < kMaxRawStackBytes ? live_bytes : kMaxRawStackBytes,
                        reinterpret_cast<vm_address_t>(raw->bytes), &copied_bytes) == KERN_SUCCESS;
  raw->size_bytes = copied_bytes;
  return is_copied;
}

}  // namespace

SuspendedCopy CopySuspended(uint32_t thread_port, RawStack* raw) noexcept {
  raw->size_bytes = 0;
  if (thread_suspend(thread_port) != KERN_SUCCESS) return SuspendedCopy::kGone;
  const bool is_copied = CopyStack(thread_port, raw);
  thread_resume(thread_port);
  return is_copied ? SuspendedCopy::kCopied : SuspendedCopy::kUnreadable;
}

}  // namespace lagwatch::stack
