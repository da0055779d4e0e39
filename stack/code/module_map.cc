// SPDX-License-Identifier: Apache-2.0
#include "stack/code/module_map.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "base/process/own_memory.h"

namespace lagwatch::stack {
namespace {

constexpr uint64_t kLargestPageBytes = 64 * 1024;

}  // namespace

ModuleMap::ModuleMap(const base::Process& process)
    : process_(process),
      modules_(base::MapOwnBlock<Module>(kMaxModules)),
      last_seen_(base::MapOwnBlock<uint32_t>(kMaxModules)),
      deleted_(base::MapOwnBlock<AtomicRegion>(kMaxModules)),
      code_(base::MapOwnBlock<CodeRange>(kMaxRanges)),
      writable_(base::MapOwnBlock<MemoryRegion>(kMaxRanges)),
      text_(base::MapOwnBlock<char>(kTextBytes)) {}

void ModuleMap::LookAt(const base::Process& process) {
  if (process == process_) return;
  process_ = process;
  code_hash_ = 0;  // else rules and pages of the other one would be taken for this one's
}

void ModuleMap::BeginRefresh() {
  ++refresh_count_;
  code_count_ = 0;
  writable_count_ = 0;
  module_hint_ = 0;
}

bool ModuleMap::EndRefresh() {
  uint64_t hash = base::kFnvOffsetBasis;
  for (size_t i = 0; i < code_count_; ++i) {
    hash = base::HashWord(code_[i].begin, base::HashWord(code_[i].module, hash));
    hash = base::HashWord(code_[i].load_bias, hash);
  }
  return std::exchange(code_hash_, hash) != hash;
}

uint32_t ModuleMap::FindOrAddModule(const Image& image) {
  std::string_view path = image.path.substr(0, Module::kMaxPathBytes);
  for (uint32_t i = 0; i < module_count_; ++i) {
    uint32_t candidate = (module_hint_ + i) % module_count_;
    Module& known = modules_[candidate];
    if (known.base != image.base || known.inode != image.inode || known.path_view() != path) continue;
    if (known.process != process_) known.process = process_;
    // One that was away may have come back as another build in the same file.
    bool was_away = last_seen_[candidate] + 1 < refresh_count_;
    if (was_away && !known.IsStillLoaded()) continue;
    last_seen_[candidate] = refresh_count_;
    module_hint_ = candidate + 1;
    return candidate;
  }
  if (module_count_ == kMaxModules) {
    ++dropped_count_;
    return kNoModule;
  }
  modules_[module_count_].process = process_;
  if (!ReadModule(image, &modules_[module_count_])) return kNoModule;
  last_seen_[module_count_] = refresh_count_;
  return module_count_++;
}

uint32_t ModuleMap::AddLanguage(std::string_view path) {
  if (!ok()) return kNoModule;
  for (uint32_t i = 0; i < module_count_; ++i)
    if (modules_[i].is_language && modules_[i].path_view() == path) return i;
  if (module_count_ == kMaxModules) return kNoModule;
  Module& module = modules_[module_count_];  // zeros so far
  module.is_language = true;
  module.path_size = static_cast<uint16_t>(std::min(path.size(), Module::kMaxPathBytes));
  std::memcpy(module.path, path.data(), module.path_size);
  last_seen_[module_count_] = refresh_count_;
  return module_count_++;
}

uint64_t Module::LoadBiasAt(uint64_t address, uint64_t file_offset) const {
  uint64_t other_bias = load_bias;
  for (const CodeSegment& segment : std::span(code_segments, code_segment_count)) {
    const uint64_t first_page = segment.file_offset & ~(kLargestPageBytes - 1);
    if (file_offset < first_page || file_offset >= segment.file_offset + segment.size_bytes) continue;
    const uint64_t bias = address - file_offset + segment.file_offset - segment.address;
    if (bias == load_bias) return bias;
    other_bias = bias;
  }
  return other_bias;
}

uint64_t ModuleMap::CodeBytes(uint32_t index) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < code_count_; ++i) {
    if (code_[i].module == index) bytes += code_[i].end - code_[i].begin;
  }
  return bytes;
}

const ModuleMap::CodeRange* ModuleMap::FindRange(uint64_t address) const {
  const CodeRange* begin = code_.get();
  const CodeRange* end = begin + code_count_;
  const CodeRange* range =
      std::upper_bound(begin, end, address, [](uint64_t at, const CodeRange& item) { return at < item.end; });
  return range != end && range->begin <= address ? range : nullptr;
}

}  // namespace lagwatch::stack
