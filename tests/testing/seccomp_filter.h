// SPDX-License-Identifier: Apache-2.0
// Confines the calling thread, for good: of a process of its own.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>

namespace lagwatch::testing {

// False where there are no filters.
template <size_t kSize>
bool ConfineBy(sock_filter (&filter)[kSize]) {
  const sock_fprog program{kSize, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace lagwatch::testing
