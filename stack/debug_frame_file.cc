// SPDX-License-Identifier: Apache-2.0
#include "stack/debug_frame_file.h"

#include <utility>

namespace lagwatch::stack {
namespace {

std::optional<DebugFrame> DebugFrameOf(const std::optional<ElfFile>& file) {
  auto section = file ? file->ReadSection(".debug_frame") : std::nullopt;
  if (!section || section->bytes.empty()) return std::nullopt;
  return DebugFrame{std::move(section->bytes), section->address};
}

}  // namespace

std::optional<DebugFrame> LoadDebugFrame(const std::string& path, std::string_view build_id,
                                         const std::string& debug_root) {
  // The kernel's own modules, "[vdso]", are in no file.
  auto module = path.starts_with('/') ? ElfFile::OpenBuild(path, build_id) : std::nullopt;
  if (!module) return std::nullopt;
  if (auto frame = DebugFrameOf(module)) return frame;
  if (auto frame = DebugFrameOf(ElfFile::OpenDebugFile(build_id, debug_root))) return frame;
  return DebugFrameOf(module->OpenMiniDebugInfo());
}

}  // namespace lagwatch::stack
