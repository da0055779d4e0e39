// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/frame_section_file.h"

#include <utility>

#include "stack/elf/elf_file.h"

namespace lagwatch::stack {
namespace {

std::optional<FrameSectionBytes> SectionOf(const std::optional<ElfFile>& file, std::string_view name) {
  auto section = file ? file->ReadSection(name) : std::nullopt;
  if (!section || section->bytes.empty()) return std::nullopt;
  return FrameSectionBytes{std::move(section->bytes), section->address};
}

std::optional<ElfFile> OpenModule(const std::string& path, std::string_view build_id) {
  // The kernel's own modules, "[vdso]", are in no file.
  return path.starts_with('/') ? ElfFile::OpenBuild(path, build_id) : std::nullopt;
}

constexpr std::string_view kDebugFrame = ".debug_frame";

}  // namespace

std::optional<FrameSectionBytes> LoadDebugFrame(const std::string& path, std::string_view build_id,
                                                const std::string& debug_root) {
  auto module = OpenModule(path, build_id);
  if (!module) return std::nullopt;
  if (auto frame = SectionOf(module, kDebugFrame)) return frame;
  if (auto frame = SectionOf(ElfFile::OpenDebugFile(build_id, debug_root), kDebugFrame)) return frame;
  return SectionOf(module->OpenMiniDebugInfo(), kDebugFrame);
}

std::optional<FrameSectionBytes> LoadDebugFrame(const std::string& path, std::string_view build_id) {
  return LoadDebugFrame(path, build_id, ElfFile::kDebugRoot);
}

std::optional<FrameSectionBytes> LoadEhFrame(const std::string& path, std::string_view build_id) {
  return SectionOf(OpenModule(path, build_id), ".eh_frame");
}

FrameSectionLoader FrameSectionLoader::FromModuleFiles() {
  return {LoadEhFrame,
          [](const std::string& path, std::string_view build_id) { return LoadDebugFrame(path, build_id); }};
}

}  // namespace lagwatch::stack
