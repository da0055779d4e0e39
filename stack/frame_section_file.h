// SPDX-License-Identifier: Apache-2.0
// Unwind tables out of a module's file, for what its memory does not tell. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stack/elf_file.h"

namespace lagwatch::stack {

struct FrameSectionBytes {
  std::string bytes;     // the section's, decompressed
  uint64_t address = 0;  // the section's in the module's address space; 0 when nothing loads it
};

// Both are none when the file is gone, has another build id (raw bytes), or nobody has such a table.

// .debug_frame, the table for debuggers, which is in no process's memory: from the module at `path`, else
// from its separate debug file under `debug_root`, else from its mini debug information.
std::optional<FrameSectionBytes> LoadDebugFrame(const std::string& path, std::string_view build_id,
                                                const std::string& debug_root = ElfFile::kDebugRoot);
// .eh_frame, for modules that lack the index by which it is found in memory: programs that gcc links
// statically.
std::optional<FrameSectionBytes> LoadEhFrame(const std::string& path, std::string_view build_id);

// How to read them, for whoever is not to know of files; null for not at all.
struct FrameSectionLoader {
  using Load = std::optional<FrameSectionBytes> (*)(const std::string& path, std::string_view build_id);

  Load eh_frame = nullptr;
  Load debug_frame = nullptr;

  static FrameSectionLoader FromModuleFiles();
};

}  // namespace lagwatch::stack
