// SPDX-License-Identifier: Apache-2.0
// A system call without the C library.
#pragma once

namespace lagwatch::sdk {

// Returns -1 and sets errno on errors, as syscall(2) does. Context: signal.
long RawSyscall(long number, long a, long b, long c, long d, long e, long f);

}  // namespace lagwatch::sdk
