// SPDX-License-Identifier: Apache-2.0
// tests/stack/elf_subject.c as a shared library, and what binutils and xz make of such a file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/stack/symbol_oracle.h"

namespace lagwatch::testing {

inline const std::string kElfSubject = LAGWATCH_ELF_SUBJECT;
// The build id that the linker writes into it.
inline const std::string kElfSubjectBuildId(
    "\x01\x23\x45\x67\x89\xab\xcd\xef\x02\x46\x8a\xce\x13\x57\x9b\xdf", 16);

inline void Shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A section's bytes, in the way that objcopy reads it.
inline std::string SectionByObjcopy(const std::string& module, const std::string& name,
                                    const std::string& scratch) {
  Shell("objcopy --dump-section " + name + "=" + scratch + " " + module + " " + scratch + ".copy");
  return ReadFile(scratch);
}

// The functions that nm finds in .symtab, but not in .dynsym.
inline std::vector<ListedSymbol> HiddenFunctions(const std::string& module) {
  auto exported = FunctionsByNm("-D", module);
  auto hidden = FunctionsByNm("", module);
  std::erase_if(hidden, [&](const ListedSymbol& symbol) {
    return std::any_of(exported.begin(), exported.end(),
                       [&](const ListedSymbol& other) { return other.name == symbol.name; });
  });
  return hidden;
}

// Writes `stripped`: `module` without symbols and debug sections, but with mini debug information that holds
// the hidden functions. `objcopy_options` say what else it shall hold.
inline void StripToMiniDebugInfo(const std::string& module, const std::string& stripped,
                                 const std::string& objcopy_options = "") {
  std::ofstream names(stripped + ".names");
  for (const ListedSymbol& symbol : HiddenFunctions(module)) names << symbol.name << '\n';
  names.close();
  const std::string mini = stripped + ".mini";
  Shell("objcopy --only-keep-debug " + module + " " + mini);
  Shell("objcopy --strip-all --keep-symbols=" + stripped + ".names " + objcopy_options + " " + mini);
  Shell("xz --force " + mini);
  Shell("strip --strip-all -o " + stripped + " " + module);
  Shell("objcopy --add-section .gnu_debugdata=" + mini + ".xz " + stripped);
}

}  // namespace lagwatch::testing
