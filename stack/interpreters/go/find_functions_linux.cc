// SPDX-License-Identifier: Apache-2.0
// Finds the table of functions in a program's memory: no symbol leads to it.
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "stack/interpreters/bytes.h"
#include "stack/interpreters/go/functions.h"

namespace lagwatch::stack::go {
namespace {

constexpr uint32_t kMagic118 = 0xfffffff0;
constexpr uint32_t kMagic120 = 0xfffffff1;

// The words of runtime.moduledata.
enum ModuleWord : size_t {
  kHeader = 0,
  kNames = 1,
  kUnits = 4,
  kFiles = 7,
  kValues = 10,
  kRecords = 13,
  kEntries = 16,
  kEntryCount = 17,
  kFirstCode = 20,
  kEndOfCode = 21,
  kText = 22,
  kNoPointers = 24,  // of the variables, the first ones
  kZeroed = 28,
  kEndOfZeroed = 29,
  kEndOfVariables = 31,
  kInlinedTrees118 = 38,
  kInlinedTrees120 = 40,
  kInlinedTrees127 = 42,
  kModuleWords = 43,
};

}  // namespace

bool Functions::Attach(ConstantPages* pages, uint64_t base) {
  pages_ = pages;
  Elf64_Ehdr header;
  if (!pages->Read(base, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  std::array<Range, 8> data;
  size_t data_count = 0;
  Range module{base, base};
  uint64_t bias = 0;
  bool is_first = true;
  bool has_note = false;
  constexpr uint16_t kMostSegments = 64;
  for (uint16_t i = 0; i < std::min<uint16_t>(header.e_phnum, kMostSegments); ++i) {
    Elf64_Phdr segment;
    if (!pages->Read(base + header.e_phoff + i * sizeof segment, &segment)) return false;
    // Notes are in the first segment.
    if (segment.p_type == PT_NOTE) has_note = has_note || HasNote(base + segment.p_offset, segment.p_filesz);
    if (segment.p_type != PT_LOAD) continue;
    constexpr uint64_t kPageBytes = 4096;
    if (std::exchange(is_first, false)) bias = base - segment.p_vaddr / kPageBytes * kPageBytes;
    const uint64_t begin = bias + segment.p_vaddr;
    module.end = std::max(module.end, begin + segment.p_memsz);
    if ((segment.p_flags & PF_W) == 0 || data_count == data.size()) continue;
    data[data_count++] = {begin, begin + segment.p_filesz};
  }
  if (!has_note) return false;  // the search takes longer
  for (const Range& part : std::span(data.data(), data_count)) {
    if (version_size_ == 0) ReadVersion(part.begin, part.end);
  }
  return FindTable(module, {data.data(), data_count});
}

// The note by which Go's linker names a build.
bool Functions::HasNote(uint64_t address, uint64_t size_bytes) {
  constexpr uint32_t kGoBuildId = 4;
  constexpr uint64_t kMostBytes = 1024;
  const uint64_t end = address + std::min(size_bytes, kMostBytes);
  while (address + sizeof(Elf64_Nhdr) + 4 <= end) {
    Elf64_Nhdr note;
    char name[4];
    if (!pages_->Read(address, &note) || !pages_->Read(address + sizeof note, &name)) return false;
    if (note.n_namesz == sizeof name && note.n_type == kGoBuildId && std::memcmp(name, "Go\0\0", 4) == 0)
      return true;
    const auto padded = [](uint32_t bytes) { return (uint64_t{bytes} + 3) / 4 * 4; };
    address += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return false;
}

// The record that `go version` reads: from Go 1.18 on it holds the texts themselves.
void Functions::ReadVersion(uint64_t data, uint64_t end) {
  constexpr std::string_view kMagic = "\xff Go buildinf:";
  constexpr uint64_t kMostBytes = 64 << 10;
  constexpr uint64_t kAlignment = 16;
  constexpr uint64_t kTextAt = 32;
  constexpr std::string_view kGo1 = "go1.";
  for (uint64_t at = data; at + kTextAt < std::min(end, data + kMostBytes); at += kAlignment) {
    char bytes[kTextAt + 1 + sizeof version_];
    if (!pages_->Read(at, bytes, kTextAt)) return;
    if (std::string_view(bytes, kMagic.size()) != kMagic) continue;
    if (!pages_->Read(at, &bytes)) return;
    version_size_ = std::min<size_t>(static_cast<uint8_t>(bytes[kTextAt]), sizeof version_);
    std::memcpy(version_, bytes + kTextAt + 1, version_size_);
    // Experiments are named behind a space.
    version_size_ = std::min(version_size_, std::string_view(version_, version_size_).find(' '));
    CleanText({version_, version_size_});
    if (!version().starts_with(kGo1)) return;
    for (const char digit : version().substr(kGo1.size())) {
      if (digit < '0' || digit > '9') break;
      minor_version_ = minor_version_ * 10 + static_cast<uint32_t>(digit - '0');
    }
    return;
  }
}

// runtime.firstmoduledata is a variable. It begins with the address of the table's header and that of the
// names, which follow the header closely.
bool Functions::FindTable(const Range& module, std::span<const Range> data) {
  constexpr uint64_t kMostHeaderBytes = 256;
  for (const Range& part : data) {
    uint64_t before = 0;
    for (uint64_t at = (part.begin + 7) / 8 * 8; at + 8 <= part.end;) {
      std::array<uint64_t, 512> words;
      const size_t count = std::min<uint64_t>(words.size(), (part.end - at) / 8);
      if (!pages_->memory()->Read(at, words.data(), count * 8)) break;
      for (size_t i = 0; i < count; ++i, at += 8) {
        const uint64_t header = std::exchange(before, words[i]);
        if (header < module.begin || words[i] >= module.end || header >= words[i] ||
            words[i] - header > kMostHeaderBytes)
          continue;
        if (IsTable(at - 8, module)) return true;
      }
    }
  }
  return false;
}

bool Functions::IsTable(uint64_t module_data, const Range& module) {
  struct Header {
    uint32_t magic;
    uint16_t zeros;
    uint8_t least_instruction_bytes;
    uint8_t pointer_bytes;
    uint64_t function_count;
  };
  std::array<uint64_t, kModuleWords> words;
  Header header;
  if (!pages_->memory()->Read(module_data, &words) || !pages_->Read(words[kHeader], &header)) return false;
  const bool is_new = header.magic == kMagic120;
  const bool is_known = (is_new || header.magic == kMagic118) && header.zeros == 0 &&
                        header.least_instruction_bytes == 1 && header.pointer_bytes == 8;
  if (!is_known || words[kEntryCount] != header.function_count + 1 || words[kFirstCode] < words[kText] ||
      words[kEndOfCode] <= words[kFirstCode])
    return false;
  constexpr uint32_t kFirstWithTableOffsets = 27;
  const size_t trees = !is_new                                    ? kInlinedTrees118
                       : minor_version_ >= kFirstWithTableOffsets ? kInlinedTrees127
                                                                  : kInlinedTrees120;
  for (const size_t word : {size_t{kNames}, size_t{kUnits}, size_t{kFiles}, size_t{kValues}, size_t{kRecords},
                            size_t{kEntries}, size_t{kText}, trees}) {
    if (!module.Holds(words[word])) return false;
  }
  names_ = words[kNames];
  units_ = words[kUnits];
  files_ = words[kFiles];
  values_ = words[kValues];
  records_ = words[kRecords];
  entries_ = words[kEntries];
  entry_count_ = words[kEntryCount] - 1;
  inlined_trees_ = words[trees];
  has_start_lines_ = is_new;
  code_ = {words[kText], words[kEndOfCode]};
  zeroed_ = {words[kZeroed], words[kEndOfZeroed]};
  data_ = {words[kNoPointers], words[kEndOfVariables]};
  return true;
}

}  // namespace lagwatch::stack::go
