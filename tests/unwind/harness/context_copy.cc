// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/context_copy.h"

#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/process/safe_memory.h"
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

void AwaitTables(const stack::ModuleMap& modules, stack::Unwinder* unwinder) {
  auto raw = std::make_unique<stack::RawStack>();
  auto stack = std::make_unique<stack::Stack>();
  ucontext_t context;
  getcontext(&context);
  CopyContext(&context, modules, raw.get());
  constexpr int kTries = 300;
  for (int i = 0; i < kTries; ++i) {
    unwinder->Unwind(*raw, modules, stack.get());
    if (stack->completeness == stack::Completeness::kComplete) break;
    usleep(10'000);
    unwinder->OnModulesChanged();
  }
}

}  // namespace lagwatch::unwind_test
