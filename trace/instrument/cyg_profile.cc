// SPDX-License-Identifier: Apache-2.0
// The hooks that GCC and clang call in programs built with -finstrument-functions. The C library has empty
// ones, so such a program runs without lagwatch, too. A separate object, linked where the hooks are exported.
#include "trace/instrument/call_writer.h"

#define LAGWATCH_HOOK extern "C" __attribute__((visibility("default"))) LAGWATCH_UNTRACED

LAGWATCH_HOOK void __cyg_profile_func_enter(void* function, void* call_site);
LAGWATCH_HOOK void __cyg_profile_func_exit(void* function, void* call_site);

void __cyg_profile_func_enter(void* function, void*) {
  using lagwatch::trace::CallEventWord;
  lagwatch::trace::RecordCall(reinterpret_cast<uint64_t>(function), CallEventWord::kIsEnter);
}

void __cyg_profile_func_exit(void* function, void*) {
  lagwatch::trace::RecordCall(reinterpret_cast<uint64_t>(function), 0);
}
