// SPDX-License-Identifier: Apache-2.0
// Memory that a process shares with those that it forks later.
#pragma once

#include <sys/mman.h>

#include <memory>
#include <new>
#include <type_traits>

namespace lagwatch::base {

// Makes a T in such memory, which is given back with the last owner in each process; no destructor of T runs.
// Null when there is no memory. Context: background.
template <typename T>
std::shared_ptr<T> MakeForkShared() {
  static_assert(std::is_trivially_destructible_v<T>);
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::shared_ptr<T>(new (memory) T, [](T* shared) { munmap(shared, sizeof(T)); });
}

}  // namespace lagwatch::base
