// SPDX-License-Identifier: Apache-2.0
// Compares the capabilities of threads: system calls that change them act on the calling thread alone.
#pragma once

namespace lagwatch::base {

// Whether the calling thread has the same effective and permitted capabilities as thread `tid` of this
// process, so that what needs them succeeds in both or in neither. True where the kernel does not say. Two
// system calls. Context: any.
bool HasCapabilitiesOf(int tid);

}  // namespace lagwatch::base
