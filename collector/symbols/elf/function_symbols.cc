// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/function_symbols.h"

#include <lzma.h>

#include <algorithm>
#include <cstring>

#include "collector/symbols/elf/elf_facts.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kMaxUnpackedBytes = 64 << 20;
constexpr uint64_t kMaxXzMemoryBytes = 80 << 20;  // `xz -9` asks its reader for 65 MiB

uint8_t RankOf(const GElf_Sym& symbol) {
  constexpr uint8_t kSizeUnknown = 3;  // any with a size comes first
  uint8_t rank = symbol.st_size == 0 ? kSizeUnknown : 0;
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return rank;
    case STB_LOCAL:
      return rank + 1;
    default:
      return rank + 2;
  }
}

bool IsDefinedFunction(const GElf_Sym& symbol) {
  int type = GELF_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF;
}

Elf_Scn* FindSection(Elf* elf, auto is_wanted) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && is_wanted(section, header)) return section;
  }
  return nullptr;
}

// Returns nothing if it is damaged, or larger than kMaxUnpackedBytes; memory grows with the output.
std::string UnpackXz(std::string_view packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxXzMemoryBytes, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::string text;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && text.size() < kMaxUnpackedBytes) {
    constexpr size_t kPieceBytes = 256 << 10;
    const size_t filled = text.size();
    text.resize(filled + kPieceBytes);
    stream.next_out = reinterpret_cast<uint8_t*>(text.data() + filled);
    stream.avail_out = kPieceBytes;
    result = lzma_code(&stream, LZMA_FINISH);
    text.resize(text.size() - stream.avail_out);
  }
  lzma_end(&stream);
  return result == LZMA_STREAM_END ? text : std::string();
}

}  // namespace

bool FunctionSymbols::AddTable(Elf* elf, uint32_t type) {
  Elf_Scn* section =
      FindSection(elf, [type](Elf_Scn*, const GElf_Shdr& header) { return header.sh_type == type; });
  Elf_Data* data = section != nullptr ? elf_getdata(section, nullptr) : nullptr;
  if (data == nullptr || data->d_buf == nullptr) return false;
  GElf_Shdr header;
  gelf_getshdr(section, &header);
  const size_t count = std::min<size_t>(data->d_size / sizeof(Elf64_Sym), INT32_MAX);
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr || !IsDefinedFunction(symbol)) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0') continue;
    const uint64_t end = symbol.st_value + std::min(symbol.st_size, UINT64_MAX - symbol.st_value);
    functions_.Add(symbol.st_value, end, std::string_view(name, strnlen(name, kMaxNameBytes)),
                   RankOf(symbol));
  }
  return count > 0;
}

bool FunctionSymbols::AddMiniDebugInfo(Elf* elf) {
  Elf_Scn* section = FindSection(elf, [elf](Elf_Scn* candidate, const GElf_Shdr&) {
    return SectionName(elf, candidate) == ".gnu_debugdata";
  });
  Elf_Data* data = section != nullptr ? elf_rawdata(section, nullptr) : nullptr;
  if (data == nullptr || data->d_buf == nullptr) return false;
  unpacked_ = UnpackXz({static_cast<const char*>(data->d_buf), data->d_size});
  mini_.reset(elf_memory(unpacked_.data(), unpacked_.size()));
  return mini_ && AddTable(mini_.get(), SHT_SYMTAB);
}

std::string FunctionSymbols::NameAt(uint64_t offset) const {
  const std::string_view* name = functions_.Find(offset);
  return std::string(name != nullptr ? name->substr(0, name->find('@', 1)) : std::string_view());
}

}  // namespace lagwatch::collector
