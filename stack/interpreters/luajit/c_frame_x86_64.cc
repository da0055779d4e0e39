// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/luajit/layout.h"

namespace lagwatch::stack::luajit {

const CFrame kCFrame{.previous = 32,
                     .next_instruction = 24,
                     .state = 16,
                     .result_count = 8,
                     .base_register = 1,          // rdx
                     .instruction_register = 3};  // rbx

}  // namespace lagwatch::stack::luajit
