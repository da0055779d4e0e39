// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/context_copy.h"

#include <algorithm>

#include "base/safe_memory.h"
#include "stack/signal/context.h"

namespace lagwatch::unwind_test {

void CopyContext(const void* context, const stack::ModuleMap& modules, stack::RawStack* raw) {
  stack::ReadContext(context, &raw->registers);
  stack::MemoryRegion live = modules.stacks().LiveStack(raw->registers.stack_pointer());
  raw->address = live.begin;
  raw->end = live.end;
  raw->size_bytes = base::ReadOwnMemory(
      raw->address, raw->bytes, std::min<uint64_t>(raw->end - raw->address, stack::kMaxRawStackBytes));
}

}  // namespace lagwatch::unwind_test
