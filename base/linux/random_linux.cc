// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>

#include <cerrno>

#include "base/system/random.h"

namespace lagwatch::base {

void FillRandom(void* bytes, size_t size_bytes) {
  while (getrandom(bytes, size_bytes, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace lagwatch::base
