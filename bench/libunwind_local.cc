// SPDX-License-Identifier: Apache-2.0
#include "bench/libunwind_local.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

namespace lagwatch::bench {

[[gnu::noinline]] size_t WalkWithBacktrace(void** frames, size_t capacity) {
  int count = unw_backtrace(frames, static_cast<int>(capacity));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

[[gnu::noinline]] size_t WalkWithSteps(void** frames, size_t capacity) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  if (unw_init_local(&cursor, &context) != 0) return 0;
  size_t count = 0;
  do {
    unw_word_t ip = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &ip);
    if (ip == 0) break;
    frames[count++] = reinterpret_cast<void*>(ip);
  } while (count < capacity && unw_step(&cursor) > 0);
  return count;
}

}  // namespace lagwatch::bench
