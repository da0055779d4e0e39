// SPDX-License-Identifier: Apache-2.0
// Types and functions from the debug information of a process's files: of the files themselves, or of their
// separate debug files on this machine. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "probe/types/type.h"
#include "tools/probe/process_functions.h"

namespace lagwatch::tools {

class DebugFile;

class DebugTypes final : public probe::TypeSource {
 public:
  // Borrows `functions`, which may be null where only single modules are asked about.
  explicit DebugTypes(ProcessFunctions* functions);
  ~DebugTypes() override;

  probe::TypePointer FindType(std::string_view name) const override;
  // None, too, if a pattern means functions with different parameters.
  std::optional<probe::Signature> FindFunction(std::string_view module,
                                               std::string_view function) const override;

  // The functions into which the compiler has put that one; empty if it has code of its own, or is not known.
  std::vector<std::string> CallersOfInlined(const std::string& module, const std::string& function) const;
  // The source files of functions, by where they begin. Empty without debug information.
  std::map<uint64_t, std::string> SourceFiles(ProcessModule* module) const;
  // The beginnings of the functions of the source files that the pattern means (trace::MatchesSourceFile).
  std::set<uint64_t> FunctionsOfFile(ProcessModule* module, const std::string& pattern) const;
  // Whether any of these files has debug information.
  bool HasAny(const std::string& module) const;

 private:
  // Null without debug information.
  DebugFile* FileOf(ProcessModule* module) const;

  ProcessFunctions* functions_;
  mutable std::list<std::unique_ptr<DebugFile>> files_;
};

}  // namespace lagwatch::tools
