// SPDX-License-Identifier: Apache-2.0
// The needs of a library: the version of the GNU C library, which a program's own C library offers or not,
// and thread-local memory.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <charconv>
#include <compare>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "tools/run/checks.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct GlibcVersion {
  int major = 0;
  int minor = 0;

  auto operator<=>(const GlibcVersion&) const = default;
  std::string ToText() const { return std::to_string(major) + "." + std::to_string(minor); }
};

// An ELF file, of which only what is asked for is read.
class ElfImage {
 public:
  explicit ElfImage(const fs::path& file) : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    header_ = Read<ElfW(Ehdr)>(0);
    const bool is_elf =
        std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 && header_.e_ident[EI_CLASS] == ELFCLASS64;
    if (!is_elf) header_ = {};
  }

  // Zeros past the end.
  template <typename T>
  T Read(uint64_t offset) const {
    T value{};
    if (ReadBytes(offset, &value, sizeof value) != sizeof value) value = {};
    return value;
  }
  // Of a version, which is short.
  std::string TextAt(uint64_t offset) const {
    char text[64];
    return {text, strnlen(text, ReadBytes(offset, text, sizeof text))};
  }
  ElfW(Shdr) SectionAt(size_t index) const {
    return index < header_.e_shnum ? Read<ElfW(Shdr)>(header_.e_shoff + index * sizeof(ElfW(Shdr)))
                                   : ElfW(Shdr){};
  }
  // Zeros without one.
  ElfW(Phdr) SegmentOfType(uint32_t type) const {
    for (size_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment = Read<ElfW(Phdr)>(header_.e_phoff + i * sizeof(ElfW(Phdr)));
      if (segment.p_type == type) return segment;
    }
    return {};
  }
  ElfW(Shdr) SectionOfType(uint32_t type) const {
    for (size_t i = 0; i < header_.e_shnum; ++i) {
      if (SectionAt(i).sh_type == type) return SectionAt(i);
    }
    return {};
  }

 private:
  size_t ReadBytes(uint64_t offset, void* bytes, size_t size) const {
    const ssize_t read = pread(file_.get(), bytes, size, static_cast<off_t>(offset));
    return read < 0 ? 0 : static_cast<size_t>(read);
  }

  base::OwnedFd file_;
  ElfW(Ehdr) header_{};
};

void TakeHigher(std::string_view name, std::optional<GlibcVersion>* highest) {
  constexpr std::string_view kPrefix = "GLIBC_";
  if (!name.starts_with(kPrefix)) return;
  name.remove_prefix(kPrefix.size());
  GlibcVersion version;
  const char* end = name.data() + name.size();
  const auto [dot, major_error] = std::from_chars(name.data(), end, version.major);
  if (major_error != std::errc() || dot == end || *dot != '.') return;
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return;
  if (!*highest || version > **highest) *highest = version;
}

// As a linked list in the file: `next` is relative to the entry before, 0 at the end.
template <typename Entry, typename Visit>
void ForEach(const ElfImage& image, uint64_t at, uint64_t count, uint32_t Entry::*next, Visit visit) {
  for (uint64_t i = 0; i < count; ++i) {
    const auto entry = image.Read<Entry>(at);
    visit(at, entry);
    if (entry.*next == 0) return;
    at += entry.*next;
  }
}

fs::path FolderOf(const fs::path& loader) {
  std::error_code error;
  const fs::path resolved = fs::canonical(loader, error);
  return (error ? loader : resolved).parent_path();
}

struct Need {
  std::string library;  // of the C library's, such as libc.so.6 and, before 2.34, libpthread.so.0
  std::optional<GlibcVersion> highest;
};

// The highest version GLIBC_x.y that the ELF file needs of each library.
std::vector<Need> NeedsOf(const fs::path& file) {
  const ElfImage image(file);
  const ElfW(Shdr) needs = image.SectionOfType(SHT_GNU_verneed);
  const ElfW(Shdr) texts = image.SectionAt(needs.sh_link);
  std::vector<Need> found;
  ForEach<ElfW(Verneed)>(
      image, needs.sh_offset, needs.sh_info, &ElfW(Verneed)::vn_next, [&](uint64_t at, const auto& need) {
        found.push_back({image.TextAt(texts.sh_offset + need.vn_file), {}});
        ForEach<ElfW(Vernaux)>(image, at + need.vn_aux, need.vn_cnt, &ElfW(Vernaux)::vna_next,
                               [&](uint64_t, const auto& version) {
                                 TakeHigher(image.TextAt(texts.sh_offset + version.vna_name),
                                            &found.back().highest);
                               });
      });
  return found;
}

// The highest that it defines; none when it names no version or cannot be read.
std::optional<GlibcVersion> DefinedGlibc(const fs::path& file) {
  const ElfImage image(file);
  const ElfW(Shdr) definitions = image.SectionOfType(SHT_GNU_verdef);
  const ElfW(Shdr) texts = image.SectionAt(definitions.sh_link);
  std::optional<GlibcVersion> highest;
  ForEach<ElfW(Verdef)>(image, definitions.sh_offset, definitions.sh_info, &ElfW(Verdef)::vd_next,
                        [&](uint64_t at, const auto& definition) {
                          const auto name = image.Read<ElfW(Verdaux)>(at + definition.vd_aux);
                          TakeHigher(image.TextAt(texts.sh_offset + name.vda_name), &highest);
                        });
  return highest;
}

}  // namespace

std::string GlibcOf(const fs::path& loader) {
  const std::optional<GlibcVersion> version = DefinedGlibc(FolderOf(loader) / "libc.so.6");
  return version ? version->ToText() : "";
}

uint64_t ThreadLocalBytesOf(const fs::path& library) {
  return ElfImage(library).SegmentOfType(PT_TLS).p_memsz;
}

base::Status CheckGlibc(const fs::path& loader, const fs::path& library) {
  const fs::path folder = FolderOf(loader);
  for (const Need& need : NeedsOf(library)) {
    const fs::path offering = folder / need.library;  // without it, the loader looks elsewhere
    const std::optional<GlibcVersion> offered = DefinedGlibc(offering);
    if (!need.highest || !offered || *need.highest <= *offered) continue;
    return {base::StatusCode::kInvalid,
            "its C library, " + offering.string() + ", is glibc " + offered->ToText() + ", and " +
                library.filename().string() + " needs " + need.highest->ToText() +
                ": use a lagwatch that was built for that version, or run the program without it"};
  }
  return {};
}

}  // namespace lagwatch::tools
