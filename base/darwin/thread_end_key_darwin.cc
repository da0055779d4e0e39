// SPDX-License-Identifier: Apache-2.0
#include "base/process/thread_end_key.h"

namespace lagwatch::base {

// All keys' values are in the thread's own block.
bool CreateThreadEndKey(pthread_key_t* key, void (*at_end)(void* value)) {
  return pthread_key_create(key, at_end) == 0;
}

}  // namespace lagwatch::base
