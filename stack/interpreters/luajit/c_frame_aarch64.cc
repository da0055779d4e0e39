// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/luajit/layout.h"

namespace lagwatch::stack::luajit {

const CFrame kCFrame{.previous = 0,
                     .next_instruction = 8,
                     .state = 16,
                     .result_count = 40,
                     .base_register = 19,
                     .instruction_register = 21};

}  // namespace lagwatch::stack::luajit
