// SPDX-License-Identifier: Apache-2.0
// The table of functions that Go's linker puts into each program, also into a stripped one: frame sizes,
// names, files, lines and inlined calls of every place in its code. Source: runtime/symtab.go and
// symtabinl.go of Go 1.18 to 1.27.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/interpreters/go/constant_pages.h"

namespace lagwatch::stack::go {

// A function that has code of its own.
struct Function {
  uint64_t entry = 0;
  uint64_t end = 0;
  uint64_t record = 0;        // the address of its record in the table
  bool is_outermost = false;  // it has no caller
  bool moves_stack = false;   // its caller is on another stack, or at a place that the table does not have
};

// A place in the source; texts of at most the buffers' sizes.
struct Place {
  static constexpr size_t kMaxTextBytes = 256;

  size_t name_size = 0;
  size_t file_size = 0;
  uint32_t line = 0;
  char name[kMaxTextBytes];
  char file[kMaxTextBytes];  // without its directories

  std::string_view name_view() const { return {name, name_size}; }
  std::string_view file_view() const { return {file, file_size}; }
};

// Of one module. Zeros are an empty one. Context: watchdog; not thread-safe.
class Functions {
 public:
  // A range of addresses, [begin, end).
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool Holds(uint64_t address) const { return begin <= address && address < end; }
  };

  // Finds the table of the module whose ELF header is at `base`. `pages` is borrowed. False if it has none
  // that is known.
  bool Attach(ConstantPages* pages, uint64_t base);
  // "go1.19.8", as the linker has noted it; empty where it has not. Also if Attach() has failed.
  std::string_view version() const { return {version_, version_size_}; }
  // 19; 0: not known.
  uint32_t minor_version() const { return minor_version_; }

  Range code() const { return code_; }
  // The variables that start as zeros and may hold addresses.
  Range zeroed() const { return zeroed_; }
  // All variables.
  Range data() const { return data_; }

  // False if no Go function is at `pc`.
  bool Find(uint64_t pc, Function* function);
  // The size of the frame at `pc`, without the return address; negative: not known.
  int32_t FrameBytes(const Function& function, uint64_t pc);
  // The name of the function itself, with the path of its package.
  std::string_view NameOf(const Function& function, Place* room);
  bool ReadCode(uint64_t address, void* code, size_t size_bytes) {
    return pages_->Read(address, code, size_bytes);
  }
  // Calls `add(place)` for the places of `pc`, the innermost inlined call first, and the function itself
  // last.
  template <typename Add>
  void ForEachPlace(const Function& function, uint64_t pc, Add add) {
    Place place;
    for (int i = 0; i < kMostInlined && ReadPlace(function, &pc, &place); ++i) {
      add(place);
      if (pc == 0) return;
    }
  }
  // Whether a call that was inlined before `pc`, and whose name `accepts`, is in the function.
  template <typename Accepts>
  bool HasInlinedBefore(const Function& function, uint64_t pc, Accepts accepts) {
    Place room;
    bool has = false;
    ForEachValue(InlinedTable(function), function, [&](int32_t index, uint64_t end) {
      uint64_t caller_pc = 0;
      if (index >= 0) has = accepts(ReadInlined(function, static_cast<uint32_t>(index), &room, &caller_pc));
      return !has && end < pc;
    });
    return has;
  }

 private:
  static constexpr int kMostInlined = 64;

  bool FindTable(const Range& module, std::span<const Range> data);
  bool IsTable(uint64_t words, const Range& module);
  bool HasNote(uint64_t address, uint64_t size_bytes);
  void ReadVersion(uint64_t data, uint64_t end);
  template <typename T>
  T Member(const Function& function, uint64_t offset) {
    T value{};
    return pages_->Read(function.record + offset, &value) ? value : T{};
  }
  // Calls `use(value, end)` for the values of a table, each of which holds up to the address `end`, until
  // that returns false.
  template <typename Use>
  void ForEachValue(uint32_t table, const Function& function, Use use);
  bool ReadNumber(uint64_t* address, uint32_t* number);
  // The value at `pc` of one of the function's tables; -1: none.
  int32_t ValueAt(uint32_t table, const Function& function, uint64_t pc);
  // The innermost place of `*pc`, which becomes a place of the call that was inlined there, 0: it was not.
  bool ReadPlace(const Function& function, uint64_t* pc, Place* place);
  uint32_t InlinedTable(const Function& function);
  uint64_t InlinedTree(const Function& function);
  std::string_view ReadInlined(const Function& function, uint32_t index, Place* room, uint64_t* caller_pc);
  size_t ReadText(uint64_t address, std::span<char> text);
  bool ReadName(uint64_t offset, Place* place);
  void ReadFile(const Function& function, uint64_t pc, Place* place);

  ConstantPages* pages_ = nullptr;
  uint64_t names_ = 0;
  uint64_t units_ = 0;
  uint64_t files_ = 0;
  uint64_t values_ = 0;
  uint64_t records_ = 0;
  uint64_t entries_ = 0;
  uint64_t entry_count_ = 0;
  uint64_t inlined_trees_ = 0;
  bool has_start_lines_ = false;  // from Go 1.20 on
  Range code_;
  Range zeroed_;
  Range data_;
  uint32_t minor_version_ = 0;
  size_t version_size_ = 0;
  char version_[24] = "";
};

// Pairs of differences, of the value and of the place up to which it holds, end with a zero.
template <typename Use>
void Functions::ForEachValue(uint32_t table, const Function& function, Use use) {
  if (table == 0) return;
  uint64_t at = values_ + table;
  uint32_t value = UINT32_MAX;
  uint64_t end = function.entry;
  for (bool is_first = true; end < function.end; is_first = false) {
    uint32_t change = 0;
    uint32_t bytes = 0;
    if (!ReadNumber(&at, &change) || (change == 0 && !is_first) || !ReadNumber(&at, &bytes)) return;
    value += (change >> 1) ^ (0 - (change & 1));
    end += bytes;
    if (!use(static_cast<int32_t>(value), end)) return;
  }
}

}  // namespace lagwatch::stack::go
