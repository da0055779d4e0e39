// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/fresh_stack.h"

#include <ucontext.h>

#include "base/mapped_memory.h"

namespace lagwatch::sdk {
namespace {

struct FreshStack {
  ucontext_t caller;
  ucontext_t callee;
  alignas(16) char stack[1 << 20];
};

}  // namespace

bool RunOnFreshStack(void (*run)()) {
  const base::MappedBlock<FreshStack> fresh = base::MapBlock<FreshStack>(1);
  if (fresh == nullptr || getcontext(&fresh[0].callee) != 0) return false;
  fresh[0].callee.uc_stack = {.ss_sp = fresh[0].stack, .ss_flags = 0, .ss_size = sizeof fresh[0].stack};
  fresh[0].callee.uc_link = &fresh[0].caller;
  makecontext(&fresh[0].callee, run, 0);
  return swapcontext(&fresh[0].caller, &fresh[0].callee) == 0;
}

}  // namespace lagwatch::sdk
