// SPDX-License-Identifier: Apache-2.0
// Compares the bytecode of a method before and after it had probes. Context: background.
#pragma once

#include <vector>

namespace lagwatch::sdk::jvm {

// Whether they are equal except the numbers of constants, which a JVM may change when the
// class gets its first bytecode back. False if `before` is no valid bytecode.
bool IsSameCode(const std::vector<unsigned char>& before, const std::vector<unsigned char>& after);

}  // namespace lagwatch::sdk::jvm
