// SPDX-License-Identifier: Apache-2.0
// Facts of a program's file that decide what works for it. Context: background. Linux.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sdk/preload/environment/program_file.h"
#include "tools/doctor/check.h"

namespace lagwatch::tools {

struct ProgramFacts {
  std::string path;  // by which this process opens it
  std::string root;  // "/proc/PID/root" of a process that sees other files; else empty
  sdk::ProgramFile file;
  bool is_go = false;
  bool is_musl = false;
  std::string sanitizer = {};  // "AddressSanitizer"; empty without one

  // `path` is resolved by the kernel, "/proc/PID/exe" too.
  static ProgramFacts Of(const std::string& path, const std::string& root = {});
  // Whether no dynamic loader of glibc's starts it, so that nothing can be loaded into it.
  bool CanLoadNothing() const { return file.kind == sdk::ProgramKind::kStatic || is_musl; }
  // "glibc 2.36", "a static program of Go".
  std::string KindText() const;
};

// Names of functions, and lines, that reports of the program will have: by its own file and the modules
// `paths`, as processes name them.
Check CheckSymbols(const ProgramFacts& program, const std::vector<std::string>& paths);

// Of a program with a sanitizer.
std::optional<Check> CheckSanitizer(const ProgramFacts& program);

}  // namespace lagwatch::tools
