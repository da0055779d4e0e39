// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace lagwatch::sdk {

// sigaltstack(2) as the program is to see it. Context: signal.
int SetSignalStack(const stack_t* stack, stack_t* previous);

}  // namespace lagwatch::sdk
