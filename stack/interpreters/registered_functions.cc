// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/registered_functions.h"

namespace lagwatch::stack {

RegisteredFunctions& RegisteredFunctions::Instance() {
  static constinit RegisteredFunctions functions;
  return functions;
}

bool RegisteredFunctions::Add(std::string_view name, uint64_t address) {
  const std::lock_guard lock(mutex_);
  const size_t count = count_.load(std::memory_order_relaxed);  // changed under the lock alone
  if (name.empty() || name.size() > kMostNameBytes || address == 0 || count == kMost) return false;
  if (Find(name, address, address + 1) != 0) return true;  // once more
  name.copy(functions_[count].name.data(), kMostNameBytes);
  functions_[count].address = address;
  count_.store(count + 1, std::memory_order_release);  // pairs with count()
  return true;
}

uint64_t RegisteredFunctions::Find(std::string_view name, uint64_t begin, uint64_t end) const {
  const size_t known = count();
  for (size_t i = 0; i < known; ++i) {
    const NamedFunction& function = functions_[i];
    if (begin <= function.address && function.address < end && name == function.name.data())
      return function.address;
  }
  return 0;
}

}  // namespace lagwatch::stack
