// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/go/functions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "stack/interpreters/bytes.h"
#include "stack/interpreters/text.h"

namespace lagwatch::stack::go {
namespace {

// Of a function's record.
constexpr uint64_t kNameOffset = 4;
constexpr uint64_t kFrameTable = 16;
constexpr uint64_t kFileTable = 20;
constexpr uint64_t kLineTable = 24;
constexpr uint64_t kTableCount = 28;
constexpr uint64_t kUnit = 32;
constexpr uint64_t kInlinedTable = 2;  // of the tables behind the record
constexpr uint64_t kInlinedTreeData = 3;

constexpr uint8_t kIsOutermost = 1;
constexpr uint8_t kMovesStack = 2;

}  // namespace

bool Functions::Find(uint64_t pc, Function* function) {
  if (!code_.Holds(pc)) return false;
  struct Entry {
    uint32_t begin;
    uint32_t record;
  };
  const uint64_t offset = pc - code_.begin;
  uint64_t first = 0;
  uint64_t end = entry_count_;
  std::array<Entry, 2> found;
  while (first < end) {
    const uint64_t middle = first + (end - first) / 2;
    if (!pages_->Read(entries_ + middle * sizeof(Entry), &found)) return false;
    if (offset < found[0].begin) {
      end = middle;
    } else if (offset >= found[1].begin) {
      first = middle + 1;
    } else {
      *function = {.entry = code_.begin + found[0].begin,
                   .end = code_.begin + found[1].begin,
                   .record = records_ + found[0].record};
      uint32_t entry = 0;
      if (!pages_->Read(function->record, &entry) || entry != found[0].begin) return false;
      const auto flags = Member<uint8_t>(*function, has_start_lines_ ? 41 : 37);
      function->is_outermost = (flags & kIsOutermost) != 0;
      function->moves_stack = (flags & kMovesStack) != 0;
      return true;
    }
  }
  return false;
}

bool Functions::ReadNumber(uint64_t* address, uint32_t* number) {
  constexpr int kMostBits = 35;
  *number = 0;
  for (int shift = 0; shift < kMostBits; shift += 7) {
    uint8_t byte = 0;
    if (!pages_->Read((*address)++, &byte)) return false;
    *number |= uint32_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

int32_t Functions::ValueAt(uint32_t table, const Function& function, uint64_t pc) {
  int32_t found = -1;
  ForEachValue(table, function, [&](int32_t value, uint64_t end) {
    if (pc < end) found = value;
    return pc >= end;
  });
  return found;
}

int32_t Functions::FrameBytes(const Function& function, uint64_t pc) {
  return ValueAt(Member<uint32_t>(function, kFrameTable), function, pc);
}

std::string_view Functions::NameOf(const Function& function, Place* room) {
  const auto name = Member<int32_t>(function, kNameOffset);
  if (name <= 0 || !ReadName(static_cast<uint64_t>(name), room)) return {};
  return room->name_view();
}

uint32_t Functions::InlinedTable(const Function& function) {
  if (Member<uint32_t>(function, kTableCount) <= kInlinedTable) return 0;
  return Member<uint32_t>(function, (has_start_lines_ ? 44 : 40) + 4 * kInlinedTable);
}

uint64_t Functions::InlinedTree(const Function& function) {
  const uint64_t tables = has_start_lines_ ? 44 : 40;
  const auto data_count = Member<uint8_t>(function, tables - 1);
  if (data_count <= kInlinedTreeData) return 0;
  const uint64_t data = tables + 4 * (Member<uint32_t>(function, kTableCount) + kInlinedTreeData);
  const auto offset = Member<uint32_t>(function, data);
  return offset == UINT32_MAX ? 0 : inlined_trees_ + offset;
}

std::string_view Functions::ReadInlined(const Function& function, uint32_t index, Place* room,
                                        uint64_t* caller_pc) {
  struct Old {
    int32_t parent_and_kind, file, line, name, caller;
  };
  struct New {
    int32_t kind, name, caller, start_line;
  };
  const uint64_t tree = InlinedTree(function);
  if (tree == 0) return {};
  int32_t name = 0;
  int32_t caller = -1;
  if (has_start_lines_) {
    New call;
    if (!pages_->Read(tree + index * sizeof call, &call)) return {};
    name = call.name;
    caller = call.caller;
  } else {
    Old call;
    if (!pages_->Read(tree + index * sizeof call, &call)) return {};
    name = call.name;
    caller = call.caller;
  }
  *caller_pc = function.entry + static_cast<uint64_t>(caller);
  if (name <= 0 || caller < 0 || *caller_pc >= function.end || !ReadName(static_cast<uint64_t>(name), room))
    return {};
  return room->name_view();
}

bool Functions::ReadPlace(const Function& function, uint64_t* pc, Place* place) {
  *place = {};
  const uint64_t at = *pc;
  const int32_t inlined = ValueAt(InlinedTable(function), function, at);
  *pc = 0;
  if (inlined >= 0) {
    if (ReadInlined(function, static_cast<uint32_t>(inlined), place, pc).empty()) return false;
  } else if (NameOf(function, place).empty()) {
    return false;
  }
  ReadFile(function, at, place);
  const int32_t line = ValueAt(Member<uint32_t>(function, kLineTable), function, at);
  place->line = line > 0 ? static_cast<uint32_t>(line) : 0;
  return true;
}

bool Functions::ReadName(uint64_t offset, Place* place) {
  place->name_size = ReadText(names_ + offset, place->name);
  return place->name_size != 0;
}

void Functions::ReadFile(const Function& function, uint64_t pc, Place* place) {
  const int32_t number = ValueAt(Member<uint32_t>(function, kFileTable), function, pc);
  uint32_t file = 0;
  if (number < 0 ||
      !pages_->Read(
          units_ + 4 * (uint64_t{Member<uint32_t>(function, kUnit)} + static_cast<uint32_t>(number)),
          &file) ||
      file == UINT32_MAX)
    return;
  // Directories are those of the machine that built it.
  char path[1024];
  const std::string_view text(path, ReadText(files_ + file, path));
  place->file_size = text.substr(text.rfind('/') + 1).copy(place->file, sizeof place->file);
}

size_t Functions::ReadText(uint64_t address, std::span<char> text) {
  constexpr size_t kAtOnce = 64;
  size_t size = 0;
  while (size < text.size()) {
    const size_t count =
        std::min<uint64_t>({kAtOnce, text.size() - size, kAtOnce - (address + size) % kAtOnce});
    if (!pages_->Read(address + size, &text[size], count)) return 0;
    const void* end = std::memchr(&text[size], '\0', count);
    if (end != nullptr) {
      size = static_cast<size_t>(static_cast<const char*>(end) - text.data());
      break;
    }
    size += count;
  }
  CleanText(text.first(size));
  return size;
}

}  // namespace lagwatch::stack::go
