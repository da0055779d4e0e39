// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "base/system/random.h"

namespace lagwatch::base {

// The kernels of the first phones with Android 5 have no getrandom(2).
void FillRandom(void* bytes, size_t size_bytes) { arc4random_buf(bytes, size_bytes); }

}  // namespace lagwatch::base
