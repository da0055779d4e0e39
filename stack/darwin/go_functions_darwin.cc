// SPDX-License-Identifier: Apache-2.0
// Programs of Go are looked at on Linux alone.
#include "stack/interpreters/go/functions.h"

namespace lagwatch::stack::go {

bool Functions::Attach(ConstantPages* /*pages*/, uint64_t /*base*/) { return false; }

}  // namespace lagwatch::stack::go
