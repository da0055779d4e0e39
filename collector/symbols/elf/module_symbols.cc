// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/module_symbols.h"

#include "collector/symbols/elf/elf_facts.h"

namespace lagwatch::collector {

base::Result<std::unique_ptr<ModuleSymbols>> ModuleSymbols::Open(std::span<const int> fds, int alt_fd) {
  std::unique_ptr<ModuleSymbols> symbols(new ModuleSymbols);
  for (int fd : fds) {
    if (Status added = symbols->AddFile(fd); !added.ok()) return added;
  }
  symbols->LoadSymbols();
  symbols->LoadDwarf(alt_fd);
  return symbols;
}

Status ModuleSymbols::AddFile(int fd) {
  ElfHandle elf = OpenElf(fd);
  if (!elf) return ReadElfFacts(fd).status();
  // The facts of the same handle, which decompresses its sections once.
  const ElfFacts facts = ReadElfFacts(elf.get());
  elfs_.push_back(std::move(elf));
  if (elfs_.back().get_deleter().image) text_begin_ = elfs_.back().get_deleter().image->text_begin;
  if (!facts.alt_build_id.empty()) missing_alt_build_id_ = facts.alt_build_id;
  return {};
}

void ModuleSymbols::LoadSymbols() {
  bool is_complete = false;
  for (ElfHandle& elf : elfs_) is_complete |= symbols_.AddTable(elf.get(), SHT_SYMTAB);
  for (ElfHandle& elf : elfs_) {
    if (is_complete) break;
    symbols_.AddTable(elf.get(), SHT_DYNSYM);
    symbols_.AddMiniDebugInfo(elf.get());
  }
  symbols_.Sort();
}

void ModuleSymbols::LoadDwarf(int alt_fd) {
  if (alt_fd >= 0) alt_elf_ = OpenElf(alt_fd);
  if (alt_elf_) alt_.reset(dwarf_begin_elf(alt_elf_.get(), DWARF_C_READ, nullptr));
  if (alt_) missing_alt_build_id_.clear();
  for (ElfHandle& elf : elfs_) dwarfs_.emplace_back(elf.get(), alt_.get(), &symbols_);
}

std::string ModuleSymbols::note() const {
  for (const DwarfLines& dwarf : dwarfs_) {
    if (!dwarf.missing_dwo().empty())
      return "inlined calls are not shown: its debug information is split, and " + dwarf.missing_dwo() +
             " is not there (.dwp files are not read)";
  }
  return "";
}

std::vector<NamedFrame> ModuleSymbols::FramesAt(uint64_t offset) {
  if (offset < text_begin_) offset += text_begin_;
  for (DwarfLines& dwarf : dwarfs_) {
    std::vector<NamedFrame> frames = dwarf.FramesAt(offset);
    if (!frames.empty()) return frames;
  }
  std::string name = symbols_.NameAt(offset);
  if (name.empty()) return {};
  return {{.function = std::move(name)}};
}

}  // namespace lagwatch::collector
