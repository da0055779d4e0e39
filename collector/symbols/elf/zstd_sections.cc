// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <cstring>
#include <optional>

#include "collector/symbols/elf/elf_handles.h"

namespace lagwatch::collector {
namespace {

constexpr uint64_t kMaxZstdBytes = 1 << 30;

std::optional<Elf64_Chdr> ZstdHeader(const GElf_Shdr& section, const Elf_Data* data) {
  Elf64_Chdr header;
  const bool has_header = (section.sh_flags & SHF_COMPRESSED) != 0 && data != nullptr &&
                          data->d_buf != nullptr && data->d_size > sizeof header;
  if (!has_header) return std::nullopt;
  std::memcpy(&header, data->d_buf, sizeof header);
  return header.ch_type == kCompressedByZstd ? std::optional(header) : std::nullopt;
}

void Set(Elf_Data* data, char* bytes, const Elf64_Chdr& header) {
  data->d_buf = bytes;
  data->d_size = header.ch_size;
  data->d_align = header.ch_addralign;
  data->d_type = ELF_T_BYTE;
}

// Null if the section's bytes are damaged.
std::unique_ptr<char[]> Unpack(const Elf_Data& data, const Elf64_Chdr& header) {
  auto bytes = std::make_unique_for_overwrite<char[]>(header.ch_size);
  const size_t unpacked =
      ZSTD_decompress(bytes.get(), header.ch_size, static_cast<const char*>(data.d_buf) + sizeof header,
                      data.d_size - sizeof header);
  return unpacked == header.ch_size ? std::move(bytes) : nullptr;
}

}  // namespace

std::shared_ptr<UnpackedSections> UnpackZstdSections(Elf* elf) {
  std::shared_ptr<UnpackedSections> sections;
  uint64_t left_bytes = kMaxZstdBytes;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    // Only sections with that flag are loaded here: others may be large.
    Elf_Data* raw = (header.sh_flags & SHF_COMPRESSED) != 0 ? elf_rawdata(section, nullptr) : nullptr;
    const auto packed = ZstdHeader(header, raw);
    if (!packed || packed->ch_size > left_bytes) continue;
    auto bytes = Unpack(*raw, *packed);
    if (!bytes) continue;
    left_bytes -= packed->ch_size;
    // libelf keeps a second description of the same bytes, which libdw reads.
    Elf_Data* read = elf_getdata(section, nullptr);
    for (Elf_Data* data : {raw, read})
      if (data != nullptr) Set(data, bytes.get(), *packed);
    header.sh_flags &= ~uint64_t{SHF_COMPRESSED};
    header.sh_size = packed->ch_size;
    header.sh_addralign = packed->ch_addralign;
    gelf_update_shdr(section, &header);
    if (!sections) sections = std::make_shared<UnpackedSections>();
    sections->push_back(std::move(bytes));
  }
  return sections;
}

}  // namespace lagwatch::collector
