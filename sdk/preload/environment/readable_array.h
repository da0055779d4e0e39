// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lagwatch::sdk {

// Whether an environment, and of each variable the part that names are compared with, can be read. For exec
// the kernel returns EFAULT for what is not there: it is to find out, not we. Changes errno. Context: any,
// signal.
bool IsReadableArray(char* const* environment);

}  // namespace lagwatch::sdk
