// SPDX-License-Identifier: Apache-2.0
// Nothing is patched on this processor yet: see patch_site_aarch64.cc.
#include "trace/instrument/return_thunks.h"

namespace lagwatch::trace {

bool PrepareReturnThunks() { return false; }
uint64_t OriginalReturnAddress(uint64_t address) { return address; }
ReturnStats ReturnThunkStats() { return {}; }

}  // namespace lagwatch::trace
