// SPDX-License-Identifier: Apache-2.0
// The C ABI's part of probes, which this system does not have.
#include <lagwatch/c.h>

extern "C" {

int lw_forbid_probes(void) noexcept { return 1; }

}  // extern "C"
