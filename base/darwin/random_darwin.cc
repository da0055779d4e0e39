// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>

#include "base/system/random.h"

namespace lagwatch::base {

void FillRandom(void* bytes, size_t size_bytes) { static_cast<void>(getentropy(bytes, size_bytes)); }

}  // namespace lagwatch::base
