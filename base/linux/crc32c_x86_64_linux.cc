// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c_ways.h"

namespace lagwatch::base::crc32c_ways {

bool HasInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }

}  // namespace lagwatch::base::crc32c_ways
