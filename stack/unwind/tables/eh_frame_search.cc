// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/eh_frame_search.h"

#include <algorithm>

namespace lagwatch::stack {
namespace {

constexpr uint8_t kHeaderVersion = 1;
constexpr uint8_t kSearchableEncoding = pointer_encoding::kDataRelative | pointer_encoding::kSdata4;
constexpr uint64_t kTableEntryBytes = 8;

struct EhFrameHeader {
  uint64_t eh_frame;
  uint64_t table;  // address of the sorted entries; 0 when they cannot be searched
  uint64_t entry_count;
};

bool ReadHeader(const Module& module, EhFrameHeader* header) {
  char bytes[32];
  if (module.eh_frame_hdr == 0) return false;
  size_t size = module.process.Read(module.eh_frame_hdr, bytes, sizeof bytes);
  ByteCursor cursor({bytes, size, module.eh_frame_hdr});
  uint8_t version = cursor.U8();
  uint8_t frame_encoding = cursor.U8();
  uint8_t count_encoding = cursor.U8();
  uint8_t table_encoding = cursor.U8();
  header->eh_frame = cursor.Pointer(frame_encoding, module.eh_frame_hdr);
  bool ok = cursor.ok() && version == kHeaderVersion;
  header->entry_count = cursor.Pointer(count_encoding, module.eh_frame_hdr);
  bool is_searchable = cursor.ok() && table_encoding == kSearchableEncoding;
  header->table = is_searchable ? cursor.address() : 0;
  return ok;
}

}  // namespace

uint64_t EhFrameAddress(const Module& module) {
  EhFrameHeader header;
  return ReadHeader(module, &header) ? header.eh_frame : 0;
}

EhFrameSearch::EhFrameSearch()
    : fde_bytes_(base::MapOwnBlock<char>(kMaxEntryBytes)),
      cie_bytes_(base::MapOwnBlock<char>(kMaxEntryBytes)) {}

bool EhFrameSearch::Find(const Module& module, uint64_t offset, PageCache* pages, FoundRule* found) {
  CommonInformation cie;
  FrameDescription fde;
  if (!FindEntry(module, offset, pages, &cie, &fde)) return false;
  RuleRows rows(cie, fde, FrameSection::kEhFrame, module.load_bias);
  for (RuleRows::Row row; rows.Next(&row);) {
    if (offset + module.load_bias >= row.end) continue;
    found->rule = row.rule;
    found->function_offset = fde.begin - module.load_bias;
    return row.rule.cfa != UnwindRule::Cfa::kNone;
  }
  return false;
}

bool EhFrameSearch::FindSaved(const Module& module, uint64_t offset, PageCache* pages, SavedPlaces* saved) {
  CommonInformation cie;
  FrameDescription fde;
  if (!FindEntry(module, offset, pages, &cie, &fde)) return false;
  *saved = {.begin = fde.begin, .end = fde.end};
  RuleRows rows(cie, fde, FrameSection::kEhFrame, module.load_bias);
  rows.Collect(saved);
  for (RuleRows::Row row; rows.Next(&row);)
    if (offset + module.load_bias < row.end) return true;
  return false;
}

bool EhFrameSearch::FindEntry(const Module& module, uint64_t offset, PageCache* pages, CommonInformation* cie,
                              FrameDescription* fde) {
  EhFrameHeader header;
  if (!ReadHeader(module, &header) || header.table == 0) return false;
  // Entries are {code, FDE}, 32 bits each, relative to the header.
  auto relative = static_cast<int64_t>(offset + module.load_bias - module.eh_frame_hdr);
  auto entry_at = [&](uint64_t i, int32_t* entry_code, int32_t* entry_fde) {
    uint64_t word;
    if (!pages->ReadWord(module.process, header.table + i * kTableEntryBytes, &word)) return false;
    *entry_code = static_cast<int32_t>(word);
    *entry_fde = static_cast<int32_t>(word >> 32);
    return true;
  };
  uint64_t low = 0;
  uint64_t high = header.entry_count;
  int32_t code;
  int32_t fde_offset = 0;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    int32_t middle_fde;
    if (!entry_at(middle, &code, &middle_fde)) return false;
    if (code <= relative) {
      fde_offset = middle_fde;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return false;

  ByteView entry;
  EntryHeader entry_header;
  uint64_t fde_address = module.eh_frame_hdr + static_cast<uint64_t>(int64_t{fde_offset});
  if (!ReadEntry(module.process, fde_address, fde_bytes_.get(), &entry, &entry_header) || entry_header.is_cie)
    return false;
  ByteView cie_entry;
  EntryHeader cie_header;
  if (!ReadEntry(module.process, entry_header.cie_address, cie_bytes_.get(), &cie_entry, &cie_header) ||
      !cie_header.is_cie || !ParseCommonInformation(cie_entry, FrameSection::kEhFrame, cie) ||
      !ParseFrameDescription(entry, FrameSection::kEhFrame, *cie, fde)) {
    return false;
  }
  const uint64_t address = offset + module.load_bias;
  return address >= fde->begin && address < fde->end;
}

bool EhFrameSearch::ReadEntry(const base::Process& process, uint64_t address, char* buffer, ByteView* entry,
                              EntryHeader* header) {
  constexpr size_t kUsualBytes = 512;
  size_t got = process.Read(address, buffer, kUsualBytes);
  if (!ParseEntryHeader({buffer, got, address}, FrameSection::kEhFrame, 0, header)) return false;
  if (header->size == 0 || header->size > kMaxEntryBytes) return false;
  if (header->size > got) {
    got += process.Read(address + got, buffer + got, header->size - got);
    if (got < header->size) return false;
  }
  *entry = {buffer, header->size, address};
  return true;
}

}  // namespace lagwatch::stack
