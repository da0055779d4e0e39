// SPDX-License-Identifier: Apache-2.0
// A frame with its name, and its place in the source where a symbol file has it. Context: any.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace lagwatch::collector {

// The source of a frame's name.
enum class NameOrigin {
  kSymbolFile,
  kClient,  // the report has it
  kScript,  // the report has it: a function of a script or of managed code, "NAME (FILE)", as it is
  kPlace,   // none: the name is only a place, `module+0xoffset`
};

struct NamedFrame {
  std::string function = {};  // as linkers know it (_ZN… in C++), else with its namespaces; empty: not known
  std::string file = {};      // with its directory, as the compiler had it; empty: not known
  uint32_t line = 0;          // 0: not known
  bool is_inlined = false;
  NameOrigin origin = NameOrigin::kSymbolFile;

  // Whether file and line may be known.
  bool has_place() const { return origin == NameOrigin::kSymbolFile || origin == NameOrigin::kScript; }
  bool operator==(const NamedFrame&) const = default;
};

// A place in a module's code.
struct CodePlace {
  CodePlace() = default;
  CodePlace(uint64_t offset) : number(offset) {}  // NOLINT: implicit by design
  CodePlace(std::string function_name, uint64_t line) : function(std::move(function_name)), number(line) {}

  std::string function = {};  // of managed code, as it runs; empty otherwise
  uint64_t number = 0;        // the offset, as in report::Frame; of managed code the line, or 0

  auto operator<=>(const CodePlace&) const = default;
};

}  // namespace lagwatch::collector
