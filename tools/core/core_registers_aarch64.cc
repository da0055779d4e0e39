// SPDX-License-Identifier: Apache-2.0
#include "tools/core/core_registers.h"

namespace lagwatch::tools {

// Its cores have no place for the first argument of a call, which the call's result overwrites: a lock that
// is waited for would not be found.
uint16_t ReadableMachine() { return 0; }
bool SleptInCall(const CoreThread&) { return false; }
std::string CallText(const CoreThread&) { return ""; }
uint64_t StackPointerOf(const CoreThread&) { return 0; }
uint64_t ProgramCounterOf(const CoreThread&) { return 0; }

}  // namespace lagwatch::tools
