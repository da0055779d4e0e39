// SPDX-License-Identifier: Apache-2.0
// A hit of a function of the process, with what its services need besides. Plain data.
#pragma once

#include "probe/hit.h"
#include "stack/frames/call_registers.h"

namespace lagwatch::sdk {

struct NativeHit : probe::Hit {
  // The function's caller as it is after the return; program_counter is 0 if it is to be found from the
  // handler.
  stack::CallRegisters from{};
};

}  // namespace lagwatch::sdk
