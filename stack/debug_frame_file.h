// SPDX-License-Identifier: Apache-2.0
// The unwind table for debuggers, .debug_frame, which is in no process's memory: for modules, or parts of
// them, that have no .eh_frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stack/elf_file.h"

namespace lagwatch::stack {

struct DebugFrame {
  std::string bytes;     // the section's, decompressed
  uint64_t address = 0;  // the section's in the module's address space; mostly 0, since nothing loads it
};

// From the module at `path`, else from its separate debug file under `debug_root`, else from its mini debug
// information. None when the file is gone, has another build id (raw bytes), or nobody has such a table.
// Context: background.
std::optional<DebugFrame> LoadDebugFrame(const std::string& path, std::string_view build_id,
                                         const std::string& debug_root = ElfFile::kDebugRoot);

}  // namespace lagwatch::stack
