// SPDX-License-Identifier: Apache-2.0
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "base/crc32c_ways.h"

namespace lagwatch::base::crc32c_ways {

bool HasInstruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

}  // namespace lagwatch::base::crc32c_ways
