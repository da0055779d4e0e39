// SPDX-License-Identifier: Apache-2.0
#include "base/system/system_calls.h"

namespace lagwatch::base {

const SystemCall& SystemCallOf(int64_t number) {
#ifdef __x86_64__
  return kX86_64Calls.Of(number);
#else
  return kAarch64Calls.Of(number);
#endif
}

}  // namespace lagwatch::base
