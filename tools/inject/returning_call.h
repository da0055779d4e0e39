// SPDX-License-Identifier: Apache-2.0
// A call that a stopped thread is to make, and from which it goes on by itself with what it was stopped with.
// Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "tools/inject/address_space.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

struct RemoteFunction {
  uint64_t address;
  std::vector<uint64_t> arguments;
};

// Sets the thread's registers for the call, on the stack below `stack_pointer`, and a frame by which it gets
// `state` back; `signal_return` is FindSignalReturn()'s. False if there is no such frame on this processor:
// then nothing is set.
bool SetReturningCall(const AddressSpace& space, pid_t tid, const ThreadState& state, uint64_t stack_pointer,
                      uint64_t signal_return, const RemoteFunction& function);

}  // namespace lagwatch::tools
