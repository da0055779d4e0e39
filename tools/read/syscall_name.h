// SPDX-License-Identifier: Apache-2.0
// Names of the system calls that threads usually sleep in. Context: background; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::tools {

// "futex"; "syscall 424" where the name is not known. `machine` as uname(2) spells it: numbers differ.
std::string SyscallName(uint64_t number, std::string_view machine);

}  // namespace lagwatch::tools
