// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/processor.h"

namespace lagwatch::stack {

// Signal handlers' frames are not stepped over.
const uint64_t kSignalReturnCallOffset = 0;

bool IsSignalReturn(const unsigned char (&)[kMaxCodeBytes]) { return false; }

uint64_t SignalFrameOffset(int) { return 0; }

}  // namespace lagwatch::stack
