// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/fresh_stack.h"

#include <ucontext.h>

#include <cstdint>

#include "base/process/mapped_memory.h"

namespace lagwatch::sdk {
namespace {

struct FreshStack {
  void (*run)(void*);
  void* context;
  ucontext_t caller;
  ucontext_t callee;
  alignas(16) char stack[1 << 20];
};

// makecontext(3) hands over integers only.
void Enter(unsigned high, unsigned low) {
  const auto* fresh = reinterpret_cast<const FreshStack*>(uint64_t{high} << 32 | low);
  fresh->run(fresh->context);
}

}  // namespace

bool RunOnFreshStack(void (*run)(void*), void* context) {
  const base::MappedBlock<FreshStack> fresh = base::MapBlock<FreshStack>(1);
  if (fresh == nullptr || getcontext(&fresh[0].callee) != 0) return false;
  fresh[0].callee.uc_stack = {.ss_sp = fresh[0].stack, .ss_flags = 0, .ss_size = sizeof fresh[0].stack};
  fresh[0].callee.uc_link = &fresh[0].caller;
  fresh[0].run = run;
  fresh[0].context = context;
  const auto address = reinterpret_cast<uint64_t>(&fresh[0]);
  makecontext(&fresh[0].callee, reinterpret_cast<void (*)()>(&Enter), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
  return swapcontext(&fresh[0].caller, &fresh[0].callee) == 0;
}

}  // namespace lagwatch::sdk
