// SPDX-License-Identifier: Apache-2.0
// Functions of interpreters that the program names itself, because it does not export them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace lagwatch::stack {

// Thread safety: any thread adds, any finds. Context: background to add, watchdog to find.
class RegisteredFunctions {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostNameBytes = 31;

  // This process's.
  static RegisteredFunctions& Instance();

  // Copies the name. False if it is empty or too long, if the address is 0, or if there are kMost.
  bool Add(std::string_view name, uint64_t address);
  // The address of the function of that name in `begin` to `end`; 0 if there is none.
  uint64_t Find(std::string_view name, uint64_t begin, uint64_t end) const;
  // Grows with each that is added.
  size_t count() const { return count_.load(std::memory_order_acquire); }  // pairs with Add()

 private:
  struct NamedFunction {
    std::array<char, kMostNameBytes + 1> name;
    uint64_t address;
  };

  std::mutex mutex_;  // Add() holds it
  std::array<NamedFunction, kMost> functions_{};
  std::atomic<size_t> count_{0};
};

}  // namespace lagwatch::stack
