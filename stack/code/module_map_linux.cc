// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/process/own_names.h"
#include "base/process/proc_file.h"
#include "stack/code/module_map.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

// One line of the maps file.
struct ModuleMap::Line {
  uint64_t begin;
  uint64_t end;
  uint64_t file_offset;
  uint64_t inode;
  bool is_writable;
  bool is_executable;
  bool is_private;
  bool is_deleted;
  std::string_view path;
};

namespace {

// Android loads libraries from an app's archive, where each begins at some page.
bool IsArchive(std::string_view path) { return path.ends_with(".apk"); }

}  // namespace

// Whether a mapping of the file's first page is one of the image's own segments: a linker may put the end of
// one segment and the beginning of the next into the same page of the file, which is mapped for both (lld).
bool ModuleMap::HasSegmentAt(const Image& image, const Line& line) const {
  ElfHeaders headers;
  return image.base != 0 && image.inode == line.inode && image.path == line.path &&
         ReadElfHeaders(process_, image.base, &headers) && line.begin < headers.end;
}

// "7f12…-7f13… r-xp 00001000 fd:01 1234   /usr/lib/x.so"
bool ModuleMap::ParseLine(std::string_view text, Line* line) {
  if (!base::ConsumeHex(&text, &line->begin) || text.empty()) return false;
  text.remove_prefix(1);  // '-'
  if (!base::ConsumeHex(&text, &line->end) || text.size() < 6) return false;
  std::string_view permissions = text.substr(1, 4);
  line->is_writable = permissions[1] == 'w';
  line->is_executable = permissions[2] == 'x';
  line->is_private = permissions[3] == 'p';
  text.remove_prefix(5);
  if (!base::ConsumeHex(&text, &line->file_offset)) return false;
  uint64_t device_major;
  uint64_t device_minor;
  if (!base::ConsumeHex(&text, &device_major) || text.empty()) return false;
  text.remove_prefix(1);  // ':'
  if (!base::ConsumeHex(&text, &device_minor) || !base::ConsumeDecimal(&text, &line->inode)) return false;
  size_t path = text.find_first_not_of(' ');
  line->path = path == std::string_view::npos ? std::string_view() : text.substr(path);
  constexpr std::string_view kDeleted = " (deleted)";
  line->is_deleted = line->path.ends_with(kDeleted);
  if (line->is_deleted) line->path.remove_suffix(kDeleted.size());
  return true;
}

bool ModuleMap::Refresh() {
  if (!ok()) return false;
  int fd = open(base::ProcessPath(process_, "maps").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  BeginRefresh();
  Image image;
  char image_path[Module::kMaxPathBytes];
  size_t filled = 0;
  bool is_threads_own = false;
  for (;;) {
    ssize_t got = read(fd, text_.get() + filled, kTextBytes - filled);
    // Empty once the main thread has ended. Not the first choice: emulators show their own map there.
    if (got <= 0 && code_count_ + writable_count_ == 0 && !is_threads_own && process_.is_own()) {
      is_threads_own = true;
      close(fd);
      fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
      if (fd < 0) return false;
      continue;
    }
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
    std::string_view text(text_.get(), filled);
    for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
      Line line;
      if (!ParseLine(text.substr(0, end), &line)) continue;
      AddLine(line, &image);
      // The text is about to be overwritten, and the image may go on in the next piece.
      size_t size = std::min(image.path.size(), sizeof image_path);
      std::copy_n(image.path.data(), size, image_path);
      image.path = {image_path, size};
    }
    if (text.size() == kTextBytes) break;  // one line longer than the buffer: not a maps file
    std::memmove(text_.get(), text.data(), text.size());
    filled = text.size();
  }
  close(fd);

  FindModulesOfCopies();
  return EndRefresh();
}

void ModuleMap::AddLine(const Line& line, Image* image) {
  if (line.path == "[stack]") {
    main_stack_ = {line.begin, line.end};
  } else if (line.is_writable && line.is_private) {
    if (writable_count_ == kMaxRanges) {
      ++dropped_count_;
    } else {
      writable_[writable_count_++] = {line.begin, line.end};
    }
  }
  bool is_vdso = line.path == "[vdso]";
  bool is_file = !line.path.empty() && line.path.front() == '/';
  const bool may_begin_image = is_file && (line.file_offset == 0 || IsArchive(line.path));
  if (is_vdso || (may_begin_image && !HasSegmentAt(*image, line))) {
    *image = {line.begin, line.inode, line.path, is_vdso ? 0 : line.file_offset, kNoModule};
  } else if (is_file && (image->inode != line.inode || image->path != line.path)) {
    *image = {};
  }
  if (!line.is_executable) return;
  if (code_count_ == kMaxRanges) {
    ++dropped_count_;
    return;
  }
  bool is_module = (is_vdso || is_file) && image->base != 0;
  if (is_module && image->module == kNoModule) image->module = FindOrAddModule(*image);
  uint32_t index = is_module ? image->module : kNoModule;
  if (index == kNoModule) {
    // FindModulesOfCopies() resolves the file offset.
    const bool has_file = is_file && !IsArchive(line.path);
    code_[code_count_++] = {line.begin, line.end, line.file_offset, has_file ? line.inode : 0, kNoModule};
    return;
  }
  NoteFile(index, line);
  const Module& module = modules_[index];
  const uint64_t load_bias =
      is_vdso ? module.load_bias : module.LoadBiasAt(line.begin, line.file_offset - image->file_offset);
  code_[code_count_++] = {line.begin, line.end, load_bias, line.inode, index};
}

void ModuleMap::NoteFile(uint32_t module, const Line& line) {
  AtomicRegion& noted = deleted_[module];
  if (!line.is_deleted && noted.end.load(std::memory_order_relaxed) == 0) return;  // the page stays untouched
  noted.begin.store(line.is_deleted ? line.begin : 0, std::memory_order_relaxed);
  noted.end.store(line.is_deleted ? line.end : 0, std::memory_order_relaxed);
}

// A file's code may be mapped once more at an address that is not next to the module, before it or after it.
void ModuleMap::FindModulesOfCopies() {
  for (CodeRange& range : std::span(code_.get(), code_count_)) {
    if (range.module != kNoModule) continue;
    const uint64_t file_offset = std::exchange(range.load_bias, 0);
    for (uint32_t i = 0; range.inode != 0 && i < module_count_; ++i) {
      const Module& module = modules_[i];
      if (module.inode != range.inode || last_seen_[i] != refresh_count_) continue;
      const uint64_t load_bias = module.LoadBiasAt(range.begin, file_offset);
      // Equal only if that part of the file is no code: then it is another file, of another device.
      if (load_bias == module.load_bias) continue;
      range.load_bias = load_bias;
      range.module = i;
      break;
    }
  }
}

bool ModuleMap::ReadModule(const Image& image, Module* module) const {
  ElfHeaders headers;
  if (!ReadElfHeaders(process_, image.base, &headers)) return false;
  std::string_view path = image.path.substr(0, Module::kMaxPathBytes);
  module->base = image.base;
  module->inode = image.inode;
  module->load_bias = headers.load_bias;
  module->eh_frame_hdr = headers.eh_frame_hdr;
  module->end = headers.end;
  module->is_own = base::IsOwnLibrary(image.path);
  module->code_segment_count = static_cast<uint16_t>(headers.code_segment_count);
  std::copy_n(headers.code_segments, headers.code_segment_count, module->code_segments);
  module->path_size = static_cast<uint16_t>(path.size());
  std::memcpy(module->path, path.data(), path.size());
  size_t build_id_size = std::min(headers.build_id_size_bytes, Module::kMaxBuildIdBytes);
  module->build_id_size =
      static_cast<uint16_t>(process_.Read(headers.build_id, module->build_id, build_id_size));
  return true;
}

bool Module::IsStillLoaded() const {
  ElfHeaders headers;
  unsigned char loaded_build_id[kMaxBuildIdBytes];
  return ReadElfHeaders(process, base, &headers) && headers.load_bias == load_bias &&
         headers.eh_frame_hdr == eh_frame_hdr &&
         std::min(headers.build_id_size_bytes, kMaxBuildIdBytes) == build_id_size &&
         process.Read(headers.build_id, loaded_build_id, build_id_size) == build_id_size &&
         std::memcmp(loaded_build_id, build_id, build_id_size) == 0;
}

}  // namespace lagwatch::stack
