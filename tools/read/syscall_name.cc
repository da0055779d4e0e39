// SPDX-License-Identifier: Apache-2.0
#include "tools/read/syscall_name.h"

#include "base/system/system_calls.h"

namespace lagwatch::tools {

std::string SyscallName(uint64_t number, std::string_view machine) {
  const char* name = nullptr;
  const auto own_number = static_cast<int64_t>(number);
  if (machine == "x86_64") name = base::kX86_64Calls.Of(own_number).name;
  if (machine == "aarch64") name = base::kAarch64Calls.Of(own_number).name;
  return name != nullptr ? name : "syscall " + std::to_string(number);
}

}  // namespace lagwatch::tools
