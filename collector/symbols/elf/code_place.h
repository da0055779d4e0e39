// SPDX-License-Identifier: Apache-2.0
// A place in a module's code. Context: any.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace lagwatch::collector {

struct CodePlace {
  CodePlace() = default;
  CodePlace(uint64_t offset) : number(offset) {}  // NOLINT: implicit by design
  CodePlace(std::string function_name, uint64_t line) : function(std::move(function_name)), number(line) {}

  std::string function = {};  // of managed code, as it runs; empty otherwise
  uint64_t number = 0;        // the offset, as in report::Frame; of managed code the line, or 0

  auto operator<=>(const CodePlace&) const = default;
};

}  // namespace lagwatch::collector
