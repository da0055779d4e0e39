// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "stack/unwind/tables/call_frame_info.h"
#include "trace/instrument/unwind_index.h"

namespace lagwatch::trace {
namespace {

constexpr uint64_t kHeaderBytes = 12;
constexpr unsigned char kUsualHeader[] = {1, 0x1b, 0x03, 0x3b};  // version, encodings
#if defined(__x86_64__)
constexpr int32_t kBytesAtCall = 8;
#else
constexpr int32_t kBytesAtCall = 0;  // the return address is in a register
#endif

// The entry at `address`, whose segment ends at `end`.
bool ReadEntry(uint64_t address, uint64_t end, stack::ByteView* entry, stack::EntryHeader* header) {
  if (address >= end) return false;
  *entry = {reinterpret_cast<const char*>(address), end - address, address};
  if (!stack::ParseEntryHeader(*entry, stack::FrameSection::kEhFrame, 0, header)) return false;
  if (header->size == 0 || header->size > entry->size) return false;
  entry->size = header->size;
  return true;
}

}  // namespace

UnwindIndex::UnwindIndex(const dl_phdr_info& info) : load_bias_(info.dlpi_addr) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_GNU_EH_FRAME || segment.p_memsz < kHeaderBytes) continue;
    const uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (std::memcmp(reinterpret_cast<const void*>(begin), kUsualHeader, sizeof kUsualHeader) != 0) continue;
    uint32_t count = 0;
    std::memcpy(&count, reinterpret_cast<const void*>(begin + 8), sizeof count);
    if (count > (segment.p_memsz - kHeaderBytes) / sizeof(Row)) continue;
    begin_ = begin;
    rows_ = reinterpret_cast<const Row*>(begin + kHeaderBytes);
    count_ = count;
  }
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && begin_ >= begin && begin_ - begin < segment.p_memsz)
      module_end_ = begin + segment.p_memsz;
  }
}

size_t UnwindIndex::IndexAtOrAfter(uint64_t address) const {
  const auto* found = std::partition_point(rows_, rows_ + count_, [&](const Row& row) {
    return begin_ + static_cast<uint64_t>(int64_t{row.begin}) < address;
  });
  return static_cast<size_t>(found - rows_);
}

uint64_t UnwindIndex::AtOrAfter(uint64_t address) const {
  const size_t index = IndexAtOrAfter(address);
  return index == count_ ? 0 : BeginOf(index);
}

UnwindIndex::Function UnwindIndex::Find(uint64_t begin) const {
  const size_t index = IndexAtOrAfter(begin);
  if (index == count_ || BeginOf(index) != begin) return {};
  return At(index);
}

UnwindIndex::Function UnwindIndex::At(size_t index) const {
  using stack::FrameSection;
  stack::ByteView entry;
  stack::EntryHeader header;
  const uint64_t address = begin_ + static_cast<uint64_t>(int64_t{rows_[index].description});
  if (!ReadEntry(address, module_end_, &entry, &header) || header.is_cie) return {};
  stack::ByteView cie_entry;
  stack::EntryHeader cie_header;
  stack::CommonInformation cie;
  stack::FrameDescription fde;
  if (!ReadEntry(header.cie_address, module_end_, &cie_entry, &cie_header) || !cie_header.is_cie) return {};
  if (!stack::ParseCommonInformation(cie_entry, FrameSection::kEhFrame, &cie) ||
      !stack::ParseFrameDescription(entry, FrameSection::kEhFrame, cie, &fde))
    return {};
  Function function{.begin = fde.begin, .end = fde.end};
  stack::RuleRows rows(cie, fde, FrameSection::kEhFrame, load_bias_);
  stack::RuleRows::Row row;
  function.is_called =
      rows.Next(&row) && !cie.is_signal_frame && row.rule.cfa == stack::UnwindRule::Cfa::kStackPointer &&
      row.rule.cfa_offset == kBytesAtCall && row.rule.return_address == stack::UnwindRule::Saved::kAtCfa &&
      row.rule.return_address_offset == -kBytesAtCall;
  return function;
}

}  // namespace lagwatch::trace
