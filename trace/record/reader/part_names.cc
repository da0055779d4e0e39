// SPDX-License-Identifier: Apache-2.0
#include "trace/record/reader/part_names.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/process/safe_memory.h"

namespace lagwatch::trace {

PartNames::PartNames(const Arena& arena) : arena_(arena), is_own_(arena.header().pid == getpid()) {}

std::string PartNames::Find(uint64_t address, uint32_t module, uint64_t offset) {
  if (is_own_) {
    char text[kMaxNameBytes + 1];
    base::ReadOwnString(address, text, sizeof text);
    if (text[0] != '\0') return text;
  }
  if (module == kNoIndex) return {};
  const std::optional<stack::ElfFile>& file = FileOf(module);
  return file ? file->ReadConstantText(offset, kMaxNameBytes).value_or("") : "";
}

const std::optional<stack::ElfFile>& PartNames::FileOf(uint32_t module) {
  const auto [place, is_new] = files_.try_emplace(module);
  if (is_new) {
    const ArenaModule& facts = arena_.modules()[module];
    const std::string path(facts.path, std::min<size_t>(facts.path_size, sizeof facts.path));
    const std::string build_id(reinterpret_cast<const char*>(facts.build_id),
                               std::min<size_t>(facts.build_id_size, sizeof facts.build_id));
    if (auto file = stack::ElfFile::OpenBuild(path, build_id)) place->second.emplace(std::move(*file));
  }
  return place->second;
}

uint64_t PartOffset(const std::string& name) {
  constexpr int kUnusedBits = 24;  // small numbers are shorter in a report
  return base::HashBytes(name) >> kUnusedBits | 1;
}

}  // namespace lagwatch::trace
