// SPDX-License-Identifier: Apache-2.0
#include "bench/libunwind_local.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

namespace lagwatch::bench {
namespace {

size_t StepToTheEnd(unw_cursor_t* cursor, void** frames, size_t capacity) {
  size_t count = 0;
  do {
    unw_word_t ip = 0;
    unw_get_reg(cursor, UNW_REG_IP, &ip);
    if (ip == 0) break;
    frames[count++] = reinterpret_cast<void*>(ip);
  } while (count < capacity && unw_step(cursor) > 0);
  return count;
}

}  // namespace

[[gnu::noinline]] size_t WalkWithBacktrace(void** frames, size_t capacity) {
  int count = unw_backtrace(frames, static_cast<int>(capacity));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

[[gnu::noinline]] size_t WalkWithSteps(void** frames, size_t capacity) {
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  return unw_init_local(&cursor, &context) != 0 ? 0 : StepToTheEnd(&cursor, frames, capacity);
}

size_t WalkContextWithSteps(void* context, void** frames, size_t capacity) {
  unw_cursor_t cursor;
  auto* interrupted = static_cast<unw_context_t*>(context);
  bool ok = unw_init_local2(&cursor, interrupted, UNW_INIT_SIGNAL_FRAME) == 0;
  return ok ? StepToTheEnd(&cursor, frames, capacity) : 0;
}

}  // namespace lagwatch::bench
