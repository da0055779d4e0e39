// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/elf_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/process/regular_file.h"
#include "base/text.h"
#include "stack/elf/build_id_note.h"

namespace lagwatch::stack {
namespace {

constexpr uint64_t kMaxSectionBytes = 256 << 20;
constexpr size_t kMaxBuildIdBytes = 64;

constexpr unsigned char kHostByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// "ROOT/.build-id/ab/cdef….debug"
std::string DebugFilePath(const std::string& root, std::string_view build_id) {
  const std::string digits = base::ToHex(build_id);
  std::string path = root + "/.build-id/" + digits.substr(0, 2);
  if (digits.size() > 2) path += "/" + digits.substr(2);
  return path + ".debug";
}

// A compressed section begins with a header that says how, and how large it was.
std::optional<std::string> Decompress(std::string_view content) {
  Elf64_Chdr header;
  if (content.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, content.data(), sizeof header);
  if (header.ch_type != ELFCOMPRESS_ZLIB) return std::nullopt;
  auto text = DecompressZlib(content.substr(sizeof header));
  return text && text->size() == header.ch_size ? text : std::nullopt;
}

}  // namespace

std::optional<ElfFile> ElfFile::Open(const std::string& path) {
  ElfFile file;
  struct stat status {};
  file.fd_ = base::OpenRegularFile(path.c_str(), &status);
  if (file.fd_ < 0) return std::nullopt;
  file.size_bytes_ = static_cast<uint64_t>(status.st_size);
  if (!file.ReadSectionTable()) return std::nullopt;
  return file;
}

std::optional<ElfFile> ElfFile::OpenBuild(const std::string& path, std::string_view build_id) {
  auto file = Open(path);
  return file && file->BuildId() == build_id ? std::move(file) : std::nullopt;
}

std::optional<ElfFile> ElfFile::OpenDebugFile(std::string_view build_id, const std::string& debug_root) {
  if (build_id.empty()) return std::nullopt;
  return OpenBuild(DebugFilePath(debug_root, build_id), build_id);
}

std::optional<ElfFile> ElfFile::OpenMiniDebugInfo() const {
  auto section = ReadSection(".gnu_debugdata");
  auto image = section ? DecompressXz(section->bytes) : std::nullopt;
  if (!image) return std::nullopt;
  ElfFile file;
  file.memory_ = std::move(*image);
  file.size_bytes_ = file.memory_.size();
  if (!file.ReadSectionTable()) return std::nullopt;
  return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::move(other.memory_)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      sections_(std::move(other.sections_)),
      names_section_(other.names_section_) {}

ElfFile::~ElfFile() {
  if (fd_ >= 0) close(fd_);
}

bool ElfFile::ReadSectionTable() {
  Elf64_Ehdr header;
  if (!ReadAt(0, &header, sizeof header)) return false;
  bool is_native = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                   header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == kHostByteOrder &&
                   header.e_shentsize == sizeof(Elf64_Shdr);
  if (!is_native) return false;
  sections_.resize(header.e_shnum);
  names_section_ = header.e_shstrndx;
  return ReadAt(header.e_shoff, sections_.data(), sections_.size() * sizeof sections_[0]);
}

std::string ElfFile::BuildId() const {
  auto read = [this](uint64_t offset, void* destination, size_t size_bytes) {
    return ReadAt(offset, destination, size_bytes);
  };
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_NOTE) continue;
    auto note = FindBuildIdNote(section.sh_offset, section.sh_size, read);
    if (!note || note->size_bytes > kMaxBuildIdBytes) continue;
    std::string id(note->size_bytes, '\0');
    if (ReadAt(note->place, id.data(), id.size())) return id;
  }
  return {};
}

size_t ElfFile::IndexOf(std::string_view name) const {
  auto names = ReadSectionAt(names_section_);
  if (!names) return sections_.size();
  std::string wanted(name);
  wanted.push_back('\0');
  auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Elf64_Shdr& section) {
    return section.sh_name < names->bytes.size() &&
           names->bytes.compare(section.sh_name, wanted.size(), wanted) == 0;
  });
  return static_cast<size_t>(found - sections_.begin());
}

bool ElfFile::HasSection(std::string_view name) const {
  const size_t index = IndexOf(name);
  return index < sections_.size() && sections_[index].sh_type != SHT_NOBITS && sections_[index].sh_size != 0;
}

std::optional<ElfSection> ElfFile::ReadSection(std::string_view name) const {
  return ReadSectionAt(IndexOf(name));
}

std::optional<ElfSection> ElfFile::ReadSection(uint32_t type) const {
  auto found = std::find_if(sections_.begin(), sections_.end(),
                            [&](const Elf64_Shdr& section) { return section.sh_type == type; });
  return ReadSectionAt(found - sections_.begin());
}

std::optional<ElfSection> ElfFile::ReadSectionAt(size_t index) const {
  if (index >= sections_.size()) return std::nullopt;
  const Elf64_Shdr& section = sections_[index];
  auto content = ReadContent(section);
  if (content && (section.sh_flags & SHF_COMPRESSED) != 0) content = Decompress(*content);
  if (!content) return std::nullopt;
  return ElfSection{std::move(*content), section.sh_addr, section.sh_link};
}

std::optional<std::string> ElfFile::ReadConstantText(uint64_t address, size_t max_bytes) const {
  auto holds_it = [&](const Elf64_Shdr& section) {
    const bool is_constant = section.sh_type != SHT_NOBITS && (section.sh_flags & SHF_ALLOC) != 0 &&
                             (section.sh_flags & (SHF_WRITE | SHF_TLS)) == 0;
    return is_constant && address >= section.sh_addr && address - section.sh_addr < section.sh_size;
  };
  const auto section = std::ranges::find_if(sections_, holds_it);
  if (section == sections_.end()) return std::nullopt;
  const uint64_t at = address - section->sh_addr;
  std::string text(std::min<uint64_t>(section->sh_size - at, max_bytes + 1), '\0');
  if (!ReadAt(section->sh_offset + at, text.data(), text.size())) return std::nullopt;
  const size_t end = text.find('\0');
  if (end == std::string::npos) return std::nullopt;
  text.resize(end);
  return text;
}

std::optional<std::string> ElfFile::ReadContent(const Elf64_Shdr& section) const {
  bool has_bytes = section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS;
  if (!has_bytes || section.sh_size > std::min(size_bytes_, kMaxSectionBytes)) return std::nullopt;
  std::string content(section.sh_size, '\0');
  return ReadAt(section.sh_offset, content.data(), content.size()) ? std::optional(std::move(content))
                                                                   : std::nullopt;
}

bool ElfFile::ReadAt(uint64_t offset, void* destination, size_t size_bytes) const {
  if (offset > size_bytes_ || size_bytes > size_bytes_ - offset) return false;
  if (fd_ < 0) {
    std::memcpy(destination, memory_.data() + offset, size_bytes);
    return true;
  }
  ssize_t got = pread(fd_, destination, size_bytes, static_cast<off_t>(offset));
  return got >= 0 && static_cast<size_t>(got) == size_bytes;
}

}  // namespace lagwatch::stack
