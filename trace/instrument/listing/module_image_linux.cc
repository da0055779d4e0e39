// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/owned_fd.h"
#include "base/process/regular_file.h"
#include "trace/instrument/code_writer.h"
#include "trace/instrument/listing/module_image.h"

namespace lagwatch::trace {
namespace {

constexpr uint64_t kLargestBytes = uint64_t{4} << 30;
constexpr size_t kMostSegments = 64;
#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kChosenAtLoad = R_X86_64_IRELATIVE;
#else
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kChosenAtLoad = R_AARCH64_IRELATIVE;
#endif
// Headers of older C libraries lack it.
constexpr int64_t kPackedRelocations = 36;       // DT_RELR
constexpr int64_t kPackedRelocationsBytes = 35;  // DT_RELRSZ

int ProtectionOf(const ElfW(Phdr) & segment) {
  return PROT_READ | ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

base::Status Damaged(const std::string& path) {
  return {base::StatusCode::kInvalid,
          path + " is not a program or library for this processor, or is damaged"};
}

// Room for all segments; the size, or 0 if they make no sense.
uint64_t SpanOf(const std::vector<ElfW(Phdr)>& segments, uint64_t file_bytes, uint64_t* lowest) {
  *lowest = UINT64_MAX;
  uint64_t end = 0;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    const bool makes_sense = segment.p_filesz <= segment.p_memsz && segment.p_offset <= file_bytes &&
                             segment.p_filesz <= file_bytes - segment.p_offset &&
                             segment.p_vaddr % kCodePageBytes == segment.p_offset % kCodePageBytes &&
                             segment.p_vaddr < kLargestBytes << 12 && segment.p_memsz < kLargestBytes;
    if (!makes_sense) return 0;
    *lowest = std::min<uint64_t>(*lowest, PageDown(segment.p_vaddr));
    end = std::max<uint64_t>(end, PageUp(segment.p_vaddr + segment.p_memsz));
  }
  return end > *lowest && end - *lowest <= kLargestBytes ? end - *lowest : 0;
}

}  // namespace

base::Result<ModuleImage> ModuleImage::Map(const std::string& path) {
  struct stat status {};
  errno = 0;
  const base::OwnedFd file(base::OpenRegularFile(path.c_str(), &status));
  if (!file && errno == ENOENT) return base::Status(base::StatusCode::kNotFound, "there is no file " + path);
  if (!file && errno != 0) return base::IoError("cannot open " + path, errno);
  Elf64_Ehdr header{};
  const bool is_elf = file && pread(file.get(), &header, sizeof header, 0) == sizeof header &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == kMachine &&
                      (header.e_type == ET_EXEC || header.e_type == ET_DYN) &&
                      header.e_phnum <= kMostSegments;
  if (!is_elf) return Damaged(path);
  ModuleImage image;
  image.path_ = path;
  image.segments_.resize(header.e_phnum);
  const size_t table_bytes = header.e_phnum * sizeof image.segments_[0];
  if (pread(file.get(), image.segments_.data(), table_bytes, static_cast<off_t>(header.e_phoff)) !=
      static_cast<ssize_t>(table_bytes))
    return Damaged(path);
  if (base::Status mapped = image.MapSegments(file.get(), header.e_type == ET_EXEC); !mapped.ok())
    return mapped;
  image.LeaveOutDamaged();
  image.Relocate();
  return image;
}

ModuleImage::ModuleImage(ModuleImage&& other) noexcept
    : path_(std::move(other.path_)),
      segments_(std::move(other.segments_)),
      info_(other.info_),
      memory_(std::exchange(other.memory_, nullptr)),
      size_bytes_(other.size_bytes_) {
  info_.dlpi_name = path_.c_str();
  info_.dlpi_phdr = segments_.data();
}

ModuleImage::~ModuleImage() {
  if (memory_ != nullptr) munmap(memory_, size_bytes_);
}

base::Status ModuleImage::MapSegments(int fd, bool is_at_its_place) {
  const std::string& path = path_;
  struct stat status {};
  uint64_t lowest = 0;
  if (fstat(fd, &status) != 0) return base::IoError("cannot read " + path, errno);
  size_bytes_ = SpanOf(segments_, static_cast<uint64_t>(status.st_size), &lowest);
  if (size_bytes_ == 0) return Damaged(path);
  // Programs that cannot be moved have their addresses in their tables.
  void* const place = is_at_its_place ? reinterpret_cast<void*>(lowest) : nullptr;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (is_at_its_place ? MAP_FIXED_NOREPLACE : 0);
  void* memory = mmap(place, size_bytes_, PROT_NONE, flags, -1, 0);
  if (memory == MAP_FAILED) return base::IoError("cannot map " + path, errno);
  memory_ = memory;
  info_.dlpi_addr = reinterpret_cast<uint64_t>(memory) - lowest;
  info_.dlpi_phnum = static_cast<ElfW(Half)>(segments_.size());
  info_.dlpi_name = path_.c_str();
  info_.dlpi_phdr = segments_.data();
  for (auto& segment : segments_) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    const uint64_t begin = info_.dlpi_addr + PageDown(segment.p_vaddr);
    const uint64_t file_end = PageUp(info_.dlpi_addr + segment.p_vaddr + segment.p_filesz);
    const uint64_t end = PageUp(info_.dlpi_addr + segment.p_vaddr + segment.p_memsz);
    const int protection = ProtectionOf(segment);
    const bool is_mapped =
        (segment.p_filesz == 0 ||
         mmap(reinterpret_cast<void*>(begin), file_end - begin, protection, MAP_PRIVATE | MAP_FIXED, fd,
              static_cast<off_t>(PageDown(segment.p_offset))) != MAP_FAILED) &&
        (end == file_end || mmap(reinterpret_cast<void*>(segment.p_filesz == 0 ? begin : file_end),
                                 end - (segment.p_filesz == 0 ? begin : file_end), protection,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
    if (!is_mapped) return base::IoError("cannot map " + path, errno);
  }
  return {};
}

bool ModuleImage::HasBytes(uint64_t address, uint64_t size_bytes) const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const auto& segment) {
    const uint64_t begin = info_.dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && address >= begin && address - begin <= segment.p_filesz &&
           size_bytes <= segment.p_filesz - (address - begin);
  });
}

// The mechanisms trust what the loader has accepted.
void ModuleImage::LeaveOutDamaged() {
  for (auto& segment : segments_) {
    const bool is_read =
        segment.p_type == PT_NOTE || segment.p_type == PT_GNU_EH_FRAME || segment.p_type == PT_DYNAMIC;
    const uint64_t begin = info_.dlpi_addr + segment.p_vaddr;
    if (is_read && !HasBytes(begin, segment.p_memsz)) segment.p_type = PT_NULL;
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto* first = reinterpret_cast<const Elf64_Dyn*>(begin);
    const auto* last = first + segment.p_memsz / sizeof *first;
    const auto value_of = [&](int64_t tag) {
      const auto* found = std::find_if(first, last, [&](const auto& entry) { return entry.d_tag == tag; });
      return found == last ? uint64_t{0} : uint64_t{found->d_un.d_val};
    };
    const auto has = [&](int64_t table, int64_t size) {
      return value_of(table) == 0 || HasBytes(info_.dlpi_addr + value_of(table), value_of(size));
    };
    const bool has_end =
        std::any_of(first, last, [](const Elf64_Dyn& entry) { return entry.d_tag == DT_NULL; });
    if (!has_end || !has(DT_RELA, DT_RELASZ) || !has(DT_JMPREL, DT_PLTRELSZ) || !has(DT_STRTAB, DT_STRSZ) ||
        !has(kPackedRelocations, kPackedRelocationsBytes))
      segment.p_type = PT_NULL;
  }
}

uint64_t* ModuleImage::SlotAt(uint64_t offset) const {
  const uint64_t address = info_.dlpi_addr + offset;
  const bool is_writable = std::any_of(segments_.begin(), segments_.end(), [&](const auto& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && offset >= segment.p_vaddr &&
           offset - segment.p_vaddr < segment.p_memsz &&
           segment.p_memsz - (offset - segment.p_vaddr) >= sizeof(uint64_t);
  });
  return is_writable && address % sizeof(uint64_t) == 0 ? reinterpret_cast<uint64_t*>(address) : nullptr;
}

// As the loader does before any symbol is bound.
void ModuleImage::RelocateBy(const Elf64_Rela& relocation) {
  uint64_t* slot = SlotAt(relocation.r_offset);
  if (slot == nullptr) return;
  const uint32_t type = ELF64_R_TYPE(relocation.r_info);
  if (type == kRelative) *slot = info_.dlpi_addr + static_cast<uint64_t>(relocation.r_addend);
  if (type == kJumpSlot && *slot != 0) *slot += info_.dlpi_addr;
  if (type == kChosenAtLoad) *slot = 0;
}

void ModuleImage::Relocate() {
  for (const auto& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    uint64_t begins[3] = {};
    uint64_t sizes[3] = {};
    for (const auto* entry = reinterpret_cast<const Elf64_Dyn*>(info_.dlpi_addr + segment.p_vaddr);
         entry->d_tag != DT_NULL; ++entry) {
      const int64_t kTags[3][2] = {
          {DT_RELA, DT_RELASZ}, {DT_JMPREL, DT_PLTRELSZ}, {kPackedRelocations, kPackedRelocationsBytes}};
      for (int i = 0; i < 3; ++i) {
        if (entry->d_tag == kTags[i][0]) begins[i] = info_.dlpi_addr + entry->d_un.d_val;
        if (entry->d_tag == kTags[i][1]) sizes[i] = entry->d_un.d_val;
      }
    }
    for (int i = 0; i < 2; ++i) {
      const auto* table = reinterpret_cast<const Elf64_Rela*>(begins[i]);
      for (size_t at = 0; begins[i] != 0 && at < sizes[i] / sizeof *table; ++at) RelocateBy(table[at]);
    }
    // An address, then bits for the 63 words behind it.
    const auto* packed = reinterpret_cast<const uint64_t*>(begins[2]);
    uint64_t next = 0;
    for (size_t at = 0; begins[2] != 0 && at < sizes[2] / sizeof *packed; ++at) {
      constexpr int kBits = 63;
      const bool is_address = packed[at] % 2 == 0;
      if (is_address) next = packed[at];
      for (int bit = 0; bit < (is_address ? 1 : kBits); ++bit) {
        const bool is_set = is_address || (packed[at] >> (bit + 1)) % 2 == 1;
        if (uint64_t* slot = is_set ? SlotAt(next + bit * sizeof(uint64_t)) : nullptr)
          *slot += info_.dlpi_addr;
      }
      next += (is_address ? 1 : kBits) * sizeof(uint64_t);
    }
    return;
  }
}

}  // namespace lagwatch::trace
