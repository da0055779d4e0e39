// SPDX-License-Identifier: Apache-2.0
// The frame of LuaJIT's interpreter on the C stack, which differs between processors. Source: lj_frame.h and
// the interpreters' sources (vm_x64.dasc, vm_arm64.dasc). Context: any (plain data).
#pragma once

#include <cstdint>

namespace lagwatch::stack::luajit {

struct CFrame {
  static constexpr uint64_t kFlags = 3;  // in its address

  // Offsets in bytes.
  uint64_t previous;
  uint64_t next_instruction;  // of the function that runs, when it was left
  uint64_t state;
  uint64_t result_count;
  // The registers that it keeps for a running function, by DWARF's numbers.
  int base_register;
  int instruction_register;
};
extern const CFrame kCFrame;

}  // namespace lagwatch::stack::luajit
