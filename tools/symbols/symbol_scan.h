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
  std::string owner = {};  // of a mapping: the parameters of the collector's API that say whose it is
  std::string note = {};   // the part of it that cannot be read, and why; empty: none
};

// The app that mappings of Java are of. Without an app, those with an id of R8's are found by that.
struct MappingOwner {
  std::string app = {};
  std::string app_version = {};
};

struct SkippedFile {
  std::string path;
  std::string why;  // "it has no build id"
};

struct SymbolScan {
  std::vector<LocalSymbolFile> files;  // of each build id and kind the first that was found
  std::vector<SkippedFile> skipped;    // ELF files and mappings only; other files are not counted
};

// Looks at files, and at all files below directories, where a mapping is named mapping.txt. Errors: kNotFound
// when there is no such path, kInvalid if there are several mappings of one owner.
base::Result<SymbolScan> ScanForSymbols(const std::vector<std::string>& paths,
                                        const MappingOwner& owner = {});

}  // namespace lagwatch::tools
