// SPDX-License-Identifier: Apache-2.0
#include "base/process/thread_end_key.h"

namespace lagwatch::base {
namespace {

// The C library keeps the values of the first keys in the thread's own block, and allocates for others
// (glibc, PTHREAD_KEY_2NDLEVEL_SIZE).
constexpr pthread_key_t kKeysWithoutAllocation = 32;

}  // namespace

bool CreateThreadEndKey(pthread_key_t* key, void (*at_end)(void* value)) {
  if (pthread_key_create(key, at_end) != 0) return false;
  if (*key < kKeysWithoutAllocation) return true;
  pthread_key_delete(*key);
  return false;
}

}  // namespace lagwatch::base
