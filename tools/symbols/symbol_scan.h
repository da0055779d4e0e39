// SPDX-License-Identifier: Apache-2.0
// Finds the files of this machine that a collector can name functions with. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/symbols/elf/build_id.h"
#include "collector/symbols/files/symbol_files.h"

namespace lagwatch::tools {

struct LocalSymbolFile {
  std::string path;
  collector::BuildId build_id;
  collector::SymbolKind kind;  // kDebug when it has debug information, or nothing but symbols
  uint64_t size_bytes;
};

struct SkippedFile {
  std::string path;
  std::string why;  // "it has no build id"
};

struct SymbolScan {
  std::vector<LocalSymbolFile> files;  // of each build id and kind the first that was found
  std::vector<SkippedFile> skipped;    // ELF files only; other files are not counted
};

// Looks at files, and at all files below directories. Errors: kNotFound when there is no such path.
base::Result<SymbolScan> ScanForSymbols(const std::vector<std::string>& paths);

}  // namespace lagwatch::tools
