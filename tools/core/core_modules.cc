// SPDX-License-Identifier: Apache-2.0
#include "tools/core/core_modules.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/process/regular_file.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kFirstBytes = 4096;  // the part of a module that each core has

// The bytes at the front of a module, in the core or in a file.
std::string FirstBytes(const CoreFile& core, uint64_t base) {
  std::string bytes(kFirstBytes, '\0');
  bytes.resize(core.Read(base, bytes.data(), bytes.size()));
  return bytes;
}
std::string FirstBytes(int file) {
  std::string bytes(kFirstBytes, '\0');
  const ssize_t got = pread(file, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

// Calls `visit(segment)` for each program header in the bytes.
template <typename Visit>
void ForEachSegment(std::string_view bytes, Visit visit) {
  Elf64_Ehdr elf;
  if (bytes.size() < sizeof elf || !bytes.starts_with(ELFMAG)) return;
  std::memcpy(&elf, bytes.data(), sizeof elf);
  for (size_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    const uint64_t at = elf.e_phoff + i * sizeof segment;
    if (at > bytes.size() || bytes.size() - at < sizeof segment) return;
    std::memcpy(&segment, bytes.data() + at, sizeof segment);
    visit(segment);
  }
}

// The build id that a linker has made (GNU) or a compiler (Go); empty without one.
std::string BuildIdIn(std::string_view bytes) {
  constexpr uint32_t kGoBuildId = 4;
  std::string build_id;
  ForEachSegment(bytes, [&](const Elf64_Phdr& segment) {
    if (segment.p_type != PT_NOTE || segment.p_offset > bytes.size()) return;
    std::string_view notes = bytes.substr(segment.p_offset, segment.p_filesz);
    Elf64_Nhdr note;
    while (build_id.empty() && notes.size() >= sizeof note) {
      std::memcpy(&note, notes.data(), sizeof note);
      const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
      const uint64_t place = sizeof note + padded(note.n_namesz);
      const uint64_t end = place + note.n_descsz;
      if (end > notes.size()) return;
      const std::string_view owner = notes.substr(sizeof note, note.n_namesz);
      const bool is_gnus = owner == std::string_view("GNU", 4) && note.n_type == NT_GNU_BUILD_ID;
      const bool is_gos = owner == std::string_view("Go\0", 4) && note.n_type == kGoBuildId;
      if (is_gnus || is_gos) build_id = notes.substr(place, note.n_descsz);
      notes.remove_prefix(std::min<uint64_t>(padded(end), notes.size()));
    }
  });
  return build_id;
}

std::string_view WithoutMark(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

// Opens the module's file, and leaves it out if it is not the one that was loaded. `is_given`: by the user,
// so that equal headers are proof enough where nothing has a build id.
void OpenFile(const CoreFile& core, bool is_given, CoreModule* module) {
  struct stat status {};
  base::OwnedFd file(base::OpenRegularFile(module->path.c_str(), &status));
  if (!file) {
    module->problem = "is not on this machine, or cannot be read";
    return;
  }
  const std::string dumped = FirstBytes(core, module->base);
  const std::string found = FirstBytes(file.get());
  const std::string build_id = BuildIdIn(dumped);
  if (build_id.empty() && !is_given) {
    module->problem = "has no build id, so that nothing proves that it is the same";
    return;
  }
  if (build_id.empty() ? dumped != found : BuildIdIn(found) != build_id) {
    module->problem = "is another build than the one that was loaded";
    return;
  }
  module->inode = status.st_ino;
  module->file = std::move(file);
}

}  // namespace

base::Result<CoreModules> CoreModules::Find(const CoreFile& core, const std::string& program) {
  CoreModules modules(core);
  modules.AddAll();
  const std::string mapped_program = modules.MappedProgram();
  modules.program_ = WithoutMark(mapped_program);
  char absolute[PATH_MAX];
  if (!program.empty() && realpath(program.c_str(), absolute) == nullptr)
    return base::IoError("cannot open " + program, errno);
  for (CoreModule& module : modules.modules_) {
    const bool is_given = !program.empty() && module.mapped_path == mapped_program;
    if (is_given) modules.program_ = module.path = absolute;
    OpenFile(core, is_given, &module);
    if (is_given && !module.file)
      return base::Status(base::StatusCode::kInvalid, program + " " + module.problem);
  }
  return modules;
}

void CoreModules::AddAll() {
  constexpr uint64_t kOwnNumbers = 1ULL << 40;  // above those of most file systems
  for (const CoreFileRange& range : core_->files()) {
    char magic[SELFMAG];
    if (range.file_offset != 0 || FindByPath(range.path) != nullptr ||
        core_->Read(range.begin, magic, sizeof magic) != sizeof magic ||
        std::memcmp(magic, ELFMAG, SELFMAG) != 0)
      continue;
    CoreModule& module = modules_.emplace_back();
    module.mapped_path = range.path;
    module.path = WithoutMark(range.path);
    module.base = range.begin;
    module.inode = kOwnNumbers + modules_.size();
  }
}

std::string CoreModules::MappedProgram() const {
  for (const uint64_t type : {AT_PHDR, AT_ENTRY}) {
    const uint64_t address = core_->AuxiliaryValue(type);
    for (const CoreFileRange& range : core_->files()) {
      if (range.begin <= address && address < range.end) return range.path;
    }
  }
  return "";
}

bool CoreModules::HasCodeAt(const CoreModule& module, uint64_t file_offset) const {
  constexpr uint64_t kPageMask = 4095;
  bool is_code = false;
  ForEachSegment(FirstBytes(*core_, module.base), [&](const Elf64_Phdr& segment) {
    is_code |= segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
               (segment.p_offset & ~kPageMask) <= file_offset &&
               file_offset < segment.p_offset + segment.p_filesz;
  });
  return is_code;
}

const CoreModule* CoreModules::FindByPath(std::string_view mapped_path) const {
  const auto found = std::ranges::find(modules_, mapped_path, &CoreModule::mapped_path);
  return found == modules_.end() ? nullptr : &*found;
}

size_t CoreModules::Read(uint64_t address, void* destination, size_t size_bytes) const {
  const auto& ranges = core_->files();
  const auto next = std::ranges::upper_bound(ranges, address, {}, &CoreFileRange::begin);
  if (next == ranges.begin()) return 0;
  const CoreFileRange& range = *std::prev(next);
  const CoreModule* module = address < range.end ? FindByPath(range.path) : nullptr;
  if (module == nullptr || !module->file) return 0;
  const size_t size = std::min<uint64_t>(size_bytes, range.end - address);
  const ssize_t got = pread(module->file.get(), destination, size,
                            static_cast<off_t>(range.file_offset + (address - range.begin)));
  return static_cast<size_t>(std::max<ssize_t>(got, 0));
}

}  // namespace lagwatch::tools
