// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/unnamed_frames.h"

#include <algorithm>
#include <span>

#include "report/format/report_encoder.h"

namespace lagwatch::sdk {
namespace {

constexpr uint64_t kLookedUp = UINT64_MAX;

}  // namespace

void UnnamedFrames::Add(const stack::ModuleMap& modules, uint32_t module, uint32_t encoded_module,
                        uint64_t symbol_offset) {
  if (module == stack::kNoModule || count_ == functions_.size()) return;
  const stack::Module& loaded = modules.module(module);
  if (loaded.is_language || !loaded.path_view().starts_with('/')) return;
  // A program has its own modules where their paths say, unless they are gone.
  if (loaded.process.is_own() && modules.DeletedFile(module).end == 0) return;
  const auto end = functions_.begin() + static_cast<ptrdiff_t>(count_);
  const bool is_known = std::any_of(functions_.begin(), end, [&](const Function& known) {
    return known.encoded_module == encoded_module && known.offset == symbol_offset;
  });
  if (!is_known) functions_[count_++] = {&modules, module, encoded_module, symbol_offset};
}

bool UnnamedFrames::AppendNames(const base::Process& watched, stack::LoadedNames* names,
                                report::FixedBuffer* buffer) {
  // A watcher is a process of its own; a program's files are opened sparingly within it.
  size_t files_left = watched.is_own() ? 4 : 64;
  bool has_names = false;
  for (size_t i = 0; i < count_; ++i) {
    const Function first = functions_[i];
    if (first.offset == kLookedUp) continue;
    std::array<uint64_t, stack::LoadedNames::kMaxPlaces> offsets;
    const size_t offset_count = TakeOffsets(first, &offsets);
    const stack::Module& module = first.modules->module(first.module);
    const stack::MemoryRegion deleted = first.modules->DeletedFile(first.module);
    // The disk may be what the program waits for, so its own thread asks for no path.
    if (deleted.end == 0 && (watched.is_own() || !stack::LoadedNames::IsElsewhere(module))) continue;
    bool may_open_file = files_left > 0;
    const bool could_open_file = may_open_file;
    const auto places = names->Find(module, deleted, std::span(offsets).first(offset_count), &may_open_file);
    files_left -= could_open_file && !may_open_file ? 1 : 0;
    for (const stack::LoadedNames::Place& place : places) {
      if (place.name_size == 0) continue;
      const size_t before = buffer->size();
      report::AppendSymbol(first.encoded_module, place.offset, place.name_view(), buffer);
      if (buffer->overflowed()) {
        buffer->Rewind(before);
        return has_names;
      }
      has_names = true;
    }
  }
  return has_names;
}

size_t UnnamedFrames::TakeOffsets(const Function& first,
                                  std::array<uint64_t, stack::LoadedNames::kMaxPlaces>* offsets) {
  size_t taken = 0;
  for (Function& function : std::span(functions_).first(count_)) {
    if (taken == offsets->size()) break;
    if (function.encoded_module != first.encoded_module || function.offset == kLookedUp) continue;
    (*offsets)[taken++] = function.offset;
    function.offset = kLookedUp;
  }
  return taken;
}

}  // namespace lagwatch::sdk
