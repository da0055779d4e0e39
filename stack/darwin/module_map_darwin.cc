// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include <algorithm>
#include <cstring>

#include "base/process/own_names.h"
#include "base/process/safe_memory.h"
#include "stack/code/module_map.h"
#include "stack/macho/macho_headers.h"

namespace lagwatch::stack {
namespace {

// The begin of dyld_all_image_infos (<mach-o/dyld_images.h>).
struct DyldImages {
  uint32_t version;
  uint32_t count;
  uint64_t images;  // 0 while dyld changes the list
  uint64_t notification;
  uint64_t flags;
  uint64_t dyld;  // its own header
};
struct DyldImage {
  uint64_t header;
  uint64_t path;
  uint64_t modified_time;
};

bool ReadDyldImages(DyldImages* images) {
  task_dyld_info info{};
  mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
  return task_info(mach_task_self(), TASK_DYLD_INFO, reinterpret_cast<task_info_t>(&info), &count) ==
             KERN_SUCCESS &&
         base::ReadOwnValue(info.all_image_info_addr, images);
}

}  // namespace

bool ModuleMap::Refresh() {
  DyldImages list;
  if (!ok() || !ReadDyldImages(&list) || list.images == 0) return false;
  BeginRefresh();
  for (uint32_t i = 0; i < std::min(list.count, kMaxModules); ++i) {
    DyldImage image;
    if (!base::ReadOwnValue(list.images + i * sizeof image, &image)) break;
    char path[Module::kMaxPathBytes];
    base::ReadOwnString(image.path, path, sizeof path);
    AddImage({image.header, 0, path, kNoModule});
  }
  AddImage({list.dyld, 0, "/usr/lib/dyld", kNoModule});
  std::sort(code_.get(), code_.get() + code_count_,
            [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  return EndRefresh();
}

void ModuleMap::AddImage(const Image& image) {
  const uint32_t index = FindOrAddModule(image);
  if (index == kNoModule) return;
  const Module& module = modules_[index];
  for (size_t i = 0; i < module.code_segment_count; ++i) {
    if (code_count_ == kMaxRanges) {
      ++dropped_count_;
      return;
    }
    const uint64_t begin = module.load_bias + module.code_segments[i].address;
    code_[code_count_++] = {begin, begin + module.code_segments[i].size_bytes, module.load_bias, 0, index};
  }
}

bool ModuleMap::ReadModule(const Image& image, Module* module) const {
  MachoHeaders headers;
  if (!ReadMachoHeaders(image.base, &headers)) return false;
  module->base = image.base;
  module->load_bias = headers.load_bias;
  module->end = headers.end;
  module->is_own = base::IsOwnLibrary(image.path);
  module->code_segment_count = static_cast<uint16_t>(headers.code_segment_count);
  std::copy_n(headers.code_segments, headers.code_segment_count, module->code_segments);
  module->path_size = static_cast<uint16_t>(image.path.size());
  std::memcpy(module->path, image.path.data(), image.path.size());
  module->build_id_size = headers.has_uuid ? sizeof headers.uuid : 0;
  std::memcpy(module->build_id, headers.uuid, module->build_id_size);
  return true;
}

bool Module::IsStillLoaded() const {
  MachoHeaders headers;
  return ReadMachoHeaders(base, &headers) && headers.load_bias == load_bias &&
         std::memcmp(headers.uuid, build_id, build_id_size) == 0;
}

}  // namespace lagwatch::stack
