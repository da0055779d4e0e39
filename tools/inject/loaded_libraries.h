// SPDX-License-Identifier: Apache-2.0
// The shared libraries of another process, and their functions' addresses by the symbol tables of their
// files, as that process sees them. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tools/inject/mappings.h"

namespace lagwatch::tools {

// Whether the process has loaded a file whose name begins so.
bool HasLoaded(pid_t pid, std::string_view name_start);

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Holds(uint64_t address) const { return begin <= address && address < end; }
};

// A library's exported functions.
class LoadedLibrary {
 public:
  // Of process `pid`, by the start of its file name. One that was loaded from memory (`memfd`) has the
  // symbols of the file `original`, if that is the same. Errors: kNotFound if none is loaded, kInvalid if its
  // file cannot be read.
  static base::Result<LoadedLibrary> Find(pid_t pid, std::string_view name_start,
                                          const std::string& original = "");
  // The same, by the process's mappings.
  static base::Result<LoadedLibrary> FindIn(const std::vector<Mapping>& mappings, pid_t pid,
                                            std::string_view name_start, const std::string& original = "");

  // 0 if it has no such function. Functions that choose their code when they are loaded are not found.
  uint64_t AddressOf(std::string_view function) const { return RangeOf(function).begin; }
  // Empty if it has no such function.
  CodeRange RangeOf(std::string_view function) const;
  const std::vector<CodeRange>& code() const { return code_; }
  bool HoldsCode(uint64_t address) const;
  const std::string& path() const { return path_; }

 private:
  struct ExportedFunction {
    uint32_t name;  // in names_
    CodeRange range;
  };

  bool ReadSymbols(const std::string& file);

  std::string path_;  // in the process's own root directory
  uint64_t base_ = 0;
  std::vector<CodeRange> code_;
  std::vector<ExportedFunction> functions_;
  std::string names_;
};

}  // namespace lagwatch::tools
