// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/unwind_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/crc32c.h"
#include "stack/unwind/tables/eh_frame_search.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kReadBytes = 128 * 1024;
constexpr size_t kMaxSectionBytes = 256 << 20;

// The entries of one section, and where they are from.
struct Section {
  ByteView view;
  FrameSection kind;
  uint64_t code_bias;  // what its code addresses are above the module's own
};

ByteView From(const ByteView& view, uint64_t address) {
  uint64_t at = address - view.address;
  if (at >= view.size) return {};
  return {view.bytes + at, view.size - at, address};
}

ByteView First(const ByteView& view, uint64_t size) {
  return {view.bytes, std::min<uint64_t>(view.size, size), view.address};
}

}  // namespace

// State that compiling needs and the table does not.
class TableBuilder {
 public:
  TableBuilder(UnwindTable* table, const std::atomic<bool>& stop) : table_(table), stop_(stop) {}

  bool ReadEhFrame(const Module& module) {
    const uint64_t address = eh_frame_address_ = EhFrameAddress(module);
    if (address == 0) return false;
    // Its size is nowhere to be found in memory: it ends with an empty entry.
    for (uint64_t at = address;;) {
      ByteView view{eh_frame_.data(), eh_frame_.size(), address};
      EntryHeader header;
      bool is_there = ParseEntryHeader(From(view, at), FrameSection::kEhFrame, address, &header);
      if (is_there && header.size == 0) {
        eh_frame_.Resize(at - address);  // the bytes behind it may change
        return at > address;
      }
      if (is_there && at + header.size - address < view.size) {
        at += header.size;
        continue;
      }
      if (stop_.load() || view.size >= kMaxSectionBytes || !eh_frame_.Resize(view.size + kReadBytes))
        return false;
      size_t got = module.process.Read(address + view.size, eh_frame_.data() + view.size, kReadBytes);
      if (got == 0) {
        eh_frame_.Resize(view.size);
        return at > address;
      }
      eh_frame_.Resize(view.size + got);
    }
  }
  ByteView eh_frame() const { return {eh_frame_.data(), eh_frame_.size(), eh_frame_address_}; }

  bool AddFunctions(const Section& section) {
    CommonInformation cie{};
    uint64_t cie_address = 0;
    bool has_cie = false;
    for (uint64_t at = section.view.address; !stop_.load();) {
      EntryHeader header;
      ByteView rest = From(section.view, at);
      if (!ParseEntryHeader(rest, section.kind, section.view.address, &header) || header.size == 0)
        return true;
      at += header.size;
      if (header.is_cie) continue;
      if (!has_cie || header.cie_address != cie_address) {
        has_cie = ReadCie(section, header.cie_address, &cie);
        cie_address = header.cie_address;
        if (!has_cie) continue;
      }
      FrameDescription fde;
      if (!ParseFrameDescription(First(rest, header.size), section.kind, cie, &fde)) continue;
      uint64_t begin = fde.begin - section.code_bias;
      uint64_t end = fde.end - section.code_bias;
      // Functions that the linker threw away are left at address 0 or thereabouts.
      bool is_code = fde.begin > section.code_bias && end <= UINT32_MAX && begin < end;
      TableFunction function{static_cast<uint32_t>(begin), static_cast<uint32_t>(end),
                             static_cast<uint64_t>(rest.bytes - section.view.bytes), &section};
      if (is_code && !functions_.PushBack(function)) return false;
    }
    return false;
  }

  bool CompileRows() {
    if (!rule_slots_.Resize(kRuleSlots)) return false;
    std::sort(functions_.begin(), functions_.end(), [](const TableFunction& a, const TableFunction& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.section->kind < b.section->kind;
    });
    uint64_t end = 0;  // of the last function
    for (const TableFunction& function : functions_) {
      if (stop_.load()) return false;
      if (function.begin < end) continue;  // .eh_frame goes before .debug_frame
      if (function.begin > end && !AddRow(static_cast<uint32_t>(end), UnwindRule{})) return false;
      if (!table_->function_offsets_.PushBack(function.begin) || !AddRowsOf(function)) return false;
      end = function.end;
    }
    if (!AddRow(static_cast<uint32_t>(end), UnwindRule{})) return false;
    table_->row_offsets_.Settle();
    table_->row_rules_.Settle();
    table_->function_offsets_.Settle();
    table_->rules_.Settle();
    return !table_->function_offsets_.empty();
  }

 private:
  struct TableFunction {
    uint32_t begin;  // in the module's own address space
    uint32_t end;
    uint64_t entry;  // where in the section
    const Section* section;
  };
  static constexpr size_t kRuleSlots = 1 << 17;  // of a hash table of rules: twice what 16 bits can number
  static constexpr size_t kMaxProbes = 128;      // few need more than a handful, unless made to collide

  static bool ReadCie(const Section& section, uint64_t address, CommonInformation* cie) {
    ByteView rest = From(section.view, address);
    EntryHeader header;
    return ParseEntryHeader(rest, section.kind, section.view.address, &header) && header.is_cie &&
           ParseCommonInformation(First(rest, header.size), section.kind, cie);
  }

  bool AddRowsOf(const TableFunction& function) {
    const Section& section = *function.section;
    ByteView rest = From(section.view, section.view.address + function.entry);
    EntryHeader header;
    CommonInformation cie;
    FrameDescription fde;
    if (!ParseEntryHeader(rest, section.kind, section.view.address, &header) ||
        !ReadCie(section, header.cie_address, &cie) ||
        !ParseFrameDescription(First(rest, header.size), section.kind, cie, &fde)) {
      return true;
    }
    RuleRows rows(cie, fde, section.kind, section.code_bias);
    for (RuleRows::Row row; rows.Next(&row);) {
      if (!AddRow(static_cast<uint32_t>(row.begin - section.code_bias), row.rule)) return false;
    }
    return true;
  }

  bool AddRow(uint32_t offset, const UnwindRule& rule) {
    uint16_t number;
    if (!NumberOf(rule, &number)) {
      ++table_->dropped_count_;
      if (!NumberOf(UnwindRule{}, &number)) return false;
    }
    auto& offsets = table_->row_offsets_;
    auto& rules = table_->row_rules_;
    if (!rules.empty() && rules.back() == number) return true;  // goes on as before
    return offsets.PushBack(offset) && rules.PushBack(number);
  }

  bool NumberOf(const UnwindRule& rule, uint16_t* number) {
    const uint64_t kinds = uint64_t{static_cast<uint8_t>(rule.cfa)} | uint64_t{rule.cfa_register} << 8 |
                           uint64_t{static_cast<uint8_t>(rule.frame_pointer)} << 16 |
                           uint64_t{static_cast<uint8_t>(rule.base_pointer)} << 24 |
                           uint64_t{static_cast<uint8_t>(rule.return_address)} << 32 |
                           uint64_t{rule.is_signal_frame} << 40 |
                           uint64_t{rule.is_return_address_signed} << 41;
    uint64_t hash = kinds;
    for (int32_t offset :
         {rule.cfa_offset, rule.frame_pointer_offset, rule.base_pointer_offset, rule.return_address_offset}) {
      hash = (std::rotl(hash, 23) ^ static_cast<uint32_t>(offset)) * 0x9e3779b97f4a7c15;
    }
    auto& rules = table_->rules_;
    for (size_t probe = 0; probe < kMaxProbes; ++probe) {
      uint32_t& known = rule_slots_[((hash >> 47) + probe) % kRuleSlots];  // the number plus 1
      if (known == 0) {
        if (rules.size() > UINT16_MAX || !rules.PushBack(rule)) return false;
        known = static_cast<uint32_t>(rules.size());
      }
      if (rules[known - 1] == rule) {
        *number = static_cast<uint16_t>(known - 1);
        return true;
      }
    }
    return false;
  }

  UnwindTable* table_;
  const std::atomic<bool>& stop_;
  uint64_t eh_frame_address_ = 0;
  base::MappedArray<char> eh_frame_;
  base::MappedArray<TableFunction> functions_;
  base::MappedArray<uint32_t> rule_slots_;
};

bool UnwindTable::Compile(const Module& module, const FileSections& file, const std::atomic<bool>& stop) {
  TableBuilder builder(this, stop);
  Section sections[] = {{file.eh_frame, FrameSection::kEhFrame, 0},
                        {file.debug_frame, FrameSection::kDebugFrame, 0}};
  if (builder.ReadEhFrame(module)) {
    const ByteView source = builder.eh_frame();
    sections[0] = {source, FrameSection::kEhFrame, module.load_bias};
    source_address_ = source.address;
    source_bytes_ = source.size;
    source_crc_ = base::Crc32c(source.bytes, source.size);
  }
  for (const Section& section : sections) {
    if (section.view.size != 0 && !builder.AddFunctions(section)) return false;
  }
  return builder.CompileRows();
}

bool UnwindTable::WasReadFrom(const Module& module) const {
  const std::atomic<bool> never_stop{false};
  TableBuilder reader(nullptr, never_stop);
  const ByteView now = reader.ReadEhFrame(module) ? reader.eh_frame() : ByteView{};
  return now.size == source_bytes_ && now.address == source_address_ &&
         base::Crc32c(now.bytes, now.size) == source_crc_;
}

bool UnwindTable::Find(uint64_t offset, FoundRule* found) const {
  if (offset > UINT32_MAX || function_offsets_.empty()) return false;
  auto at = static_cast<uint32_t>(offset);
  const uint32_t* row = std::upper_bound(row_offsets_.begin(), row_offsets_.end(), at);
  if (row == row_offsets_.begin()) return false;
  found->rule = rules_[row_rules_[static_cast<size_t>(row - row_offsets_.begin()) - 1]];
  const uint32_t* function = std::upper_bound(function_offsets_.begin(), function_offsets_.end(), at);
  if (found->rule.cfa == UnwindRule::Cfa::kNone || function == function_offsets_.begin()) return false;
  found->function_offset = function[-1];
  return true;
}

}  // namespace lagwatch::stack
