// SPDX-License-Identifier: Apache-2.0
#include "tools/inject/call_registers.h"
#include "tools/inject/return_frame.h"
#include "tools/inject/returning_call.h"

namespace lagwatch::tools {

bool SetReturningCall(const AddressSpace& space, pid_t tid, const ThreadState& state, uint64_t stack_pointer,
                      uint64_t signal_return, const RemoteFunction& function) {
  if (signal_return == 0) return false;
  const auto frame = MakeReturnFrame(state, stack_pointer, signal_return);
  if (!frame) return false;
  ThreadRegisters registers = state.registers;
  uint64_t return_slot = 0;
  PrepareCall(function.address, function.arguments, frame->address + sizeof(uint64_t), &registers,
              &return_slot, 0);
  return return_slot == frame->address &&
         space.Write(frame->address, frame->bytes.data(), frame->bytes.size()) &&
         WriteRegisters(tid, registers);
}

}  // namespace lagwatch::tools
