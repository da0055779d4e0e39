// SPDX-License-Identifier: Apache-2.0
// Reads unwind tables from a module's file, for those that its memory does not have. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::stack {

struct FrameSectionBytes {
  std::string bytes;     // the section's, decompressed
  uint64_t address = 0;  // the section's in the module's address space; 0 when nothing loads it
};

// Both are empty if the file is gone, has another build id (raw bytes), or has no such table.

// .debug_frame, the table for debuggers, which is in no process's memory: from the module at `path`, else
// from its separate debug file under `debug_root`, else from its mini debug information.
std::optional<FrameSectionBytes> LoadDebugFrame(const std::string& path, std::string_view build_id,
                                                const std::string& debug_root);
// With ElfFile::kDebugRoot.
std::optional<FrameSectionBytes> LoadDebugFrame(const std::string& path, std::string_view build_id);
// .eh_frame, for modules that lack the index by which it is found in memory: programs that
// gcc links statically.
std::optional<FrameSectionBytes> LoadEhFrame(const std::string& path, std::string_view build_id);

// A reader of these sections, so that its users need not depend on files; null: none.
struct FrameSectionLoader {
  using Load = std::optional<FrameSectionBytes> (*)(const std::string& path, std::string_view build_id);

  Load eh_frame = nullptr;
  Load debug_frame = nullptr;

  static FrameSectionLoader FromModuleFiles();
};

}  // namespace lagwatch::stack
