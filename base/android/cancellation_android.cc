// SPDX-License-Identifier: Apache-2.0
// bionic has no pthread_cancel().
#include "base/process/cancellation.h"

namespace lagwatch::base {

ScopedNoCancellation::ScopedNoCancellation() = default;
ScopedNoCancellation::~ScopedNoCancellation() = default;
void TestCancellation() {}

}  // namespace lagwatch::base
