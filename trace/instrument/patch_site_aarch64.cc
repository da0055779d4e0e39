// SPDX-License-Identifier: Apache-2.0
// Patching is not supported on this processor yet: its calls destroy the link register, so the compiler would
// need an option to leave two nops and a register.
#include "trace/instrument/patch_site.h"
#include "trace/instrument/return_thunks.h"

namespace lagwatch::trace {

bool CanPatch() { return false; }
PatchSite FindPatchSite(const CodeView&, uint64_t area, uint64_t) {
  return {.address = area, .function = area};
}
int64_t StubDisplacement(NopShape, size_t) { return 0; }
SiteBytes BytesFor(const PatchSite&, int64_t) { return {}; }
void MakeStub(uint64_t, uint64_t, unsigned char*) {}
uint64_t EntryTrampoline(bool) { return 0; }

bool PrepareReturnThunks() { return false; }
uint64_t OriginalReturnAddress(uint64_t address) { return address; }
ReturnStats ReturnThunkStats() { return {}; }

}  // namespace lagwatch::trace
