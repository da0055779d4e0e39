// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lagwatch::bench {

// Measures what a look at a thread costs the watchdog, and prints it.
void PrintLookCosts();

}  // namespace lagwatch::bench
