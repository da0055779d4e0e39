// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/unwind_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stack/code/module_map.h"
#include "stack/frames/raw_stack.h"
#include "stack/unwind/tables/eh_frame_search.h"

namespace lagwatch::stack {
namespace {

using Cfa = UnwindRule::Cfa;
using Saved = UnwindRule::Saved;

const std::atomic<bool> g_never_stop{false};

class UnwindTableTest : public ::testing::Test {
 protected:
  UnwindTableTest() { modules_.Refresh(); }

  // The index of the loaded module whose path holds `part`.
  uint32_t Find(std::string_view part) const {
    for (uint32_t i = 0; i < modules_.module_count(); ++i) {
      if (modules_.module(i).path_view().find(part) != std::string_view::npos) return i;
    }
    return kNoModule;
  }

  ModuleMap modules_;
};

std::string RegisterName(int number) {
  static const char* const kNames[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                       "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
  constexpr bool kIsX86 = Registers::kCount == std::size(kNames);
  if (kIsX86) return kNames[number];
  return number == Registers::kStackPointer ? "sp" : "x" + std::to_string(number);
}

// A row of `readelf --debug-dump=frames-interp`, in the columns that a walk needs.
struct ReadelfRow {
  uint64_t offset = 0;
  std::string cfa;
  std::string frame_pointer = "u";
  std::string return_address = "u";
};

std::vector<ReadelfRow> AskReadelf(const std::string& path) {
  std::vector<ReadelfRow> rows;
  FILE* pipe = popen(("readelf --wide --debug-dump=frames-interp '" + path + "' 2>/dev/null").c_str(), "r");
  char line[4096];
  std::vector<std::string> columns;
  bool is_in_function = false;
  std::set<std::string> foreign;  // common entries whose functions return by another register: glibc has one
  while (pipe != nullptr && fgets(line, sizeof line, pipe) != nullptr) {
    std::istringstream words(line);
    std::vector<std::string> cells{std::istream_iterator<std::string>(words), {}};
    if (cells.size() > 4 && (cells[3] == "FDE" || cells[3] == "CIE")) {
      bool is_foreign =
          cells[3] == "CIE" && cells.back() != "ra=" + std::to_string(Registers::kReturnAddress);
      if (is_foreign) foreign.insert("cie=" + cells[0]);
      is_in_function = cells[3] == "FDE" && foreign.count(cells[4]) == 0;
    }
    if (cells.size() < 2 || !is_in_function) continue;
    if (cells[0] == "LOC") {
      columns = cells;
    } else if (cells.size() == columns.size() && cells[0].size() == 16) {
      ReadelfRow row{std::stoull(cells[0], nullptr, 16), cells[1]};
      for (size_t i = 2; i < cells.size(); ++i) {
        if (columns[i] == RegisterName(Registers::kFramePointer)) row.frame_pointer = cells[i];
        if (columns[i] == "ra") row.return_address = cells[i];
      }
      rows.push_back(row);
    }
  }
  if (pipe != nullptr) pclose(pipe);
  return rows;
}

// As readelf writes it.
std::string CfaText(const UnwindRule& rule) {
  std::string offset = "+" + std::to_string(rule.cfa_offset);
  switch (rule.cfa) {
    case Cfa::kStackPointer:
      return RegisterName(Registers::kStackPointer) + offset;
    case Cfa::kFramePointer:
      return RegisterName(Registers::kFramePointer) + offset;
    case Cfa::kRegister:
      return RegisterName(rule.cfa_register) + offset;
    case Cfa::kExpression:
      return "exp";
    default:
      return "none";
  }
}

std::string SavedText(Saved where, int32_t offset) {
  switch (where) {
    case Saved::kAtCfa:
      return "c" + std::string(offset < 0 ? "" : "+") + std::to_string(offset);
    case Saved::kExpression:
      return "exp";
    default:
      return "u";
  }
}

// The oracle is binutils' reading of the same table, row by row.
TEST_F(UnwindTableTest, AgreesWithReadelfOnEveryRow) {
  for (const char* library : {"/libc.so.6", "/libstdc++.so.6"}) {
    uint32_t index = Find(library);
    if (index == kNoModule) continue;  // linked statically
    const Module& module = modules_.module(index);
    UnwindTable table;
    ASSERT_TRUE(table.Compile(module, {}, g_never_stop)) << library;
    auto rows = AskReadelf(std::string(module.path_view()));
    ASSERT_GT(rows.size(), 10'000u) << library;
    int differences = 0;
    for (const ReadelfRow& row : rows) {
      FoundRule found;
      table.Find(row.offset, &found);
      std::string ours = CfaText(found.rule) + " " +
                         SavedText(found.rule.frame_pointer, found.rule.frame_pointer_offset) + " " +
                         SavedText(found.rule.return_address, found.rule.return_address_offset);
      auto said = [](const std::string& cell) {
        return cell == "s" ? "u" : cell;
      };  // the same value: not saved
      std::string theirs = row.cfa + " " + said(row.frame_pointer) + " " + said(row.return_address);
      if (ours == theirs || ++differences > 10) continue;
      ADD_FAILURE() << library << "+0x" << std::hex << row.offset << ": " << ours << ", readelf: " << theirs;
    }
    EXPECT_EQ(differences, 0) << "of " << rows.size();
    EXPECT_EQ(table.dropped_count(), 0u);
  }
}

// The two ways to a rule are one: the table, and the search in memory that is used until there is one.
TEST_F(UnwindTableTest, AgreesWithTheSearchInMemory) {
  EhFrameSearch search;
  PageCache pages;
  size_t compared = 0;
  for (uint32_t i = 0; i < modules_.module_count(); ++i) {
    const Module& module = modules_.module(i);
    UnwindTable table;
    if (!table.Compile(module, {}, g_never_stop)) continue;
    uint64_t step = std::max<uint64_t>(modules_.CodeBytes(i) / 2000, 1);
    for (uint64_t offset = 1; offset < module.end - module.load_bias; offset += step) {
      FoundRule by_table;
      FoundRule by_search;
      bool has_rule = table.Find(offset, &by_table);
      ASSERT_EQ(search.Find(module, offset, &pages, &by_search), has_rule) << module.path << " " << offset;
      if (!has_rule) continue;
      ASSERT_EQ(by_table.rule, by_search.rule) << module.path << " " << offset;
      ASSERT_EQ(by_table.function_offset, by_search.function_offset) << module.path << " " << offset;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1'000u);
}

TEST_F(UnwindTableTest, SaysNothingOfAPlaceBetweenFunctionsOrOutside) {
  UnwindTable table;
  ASSERT_TRUE(table.Compile(modules_.module(0), {}, g_never_stop));
  FoundRule found;
  EXPECT_FALSE(table.Find(0, &found));
  EXPECT_FALSE(table.Find(UINT32_MAX, &found));
  EXPECT_FALSE(table.Find(UINT64_MAX, &found));
}

TEST_F(UnwindTableTest, StopsWhenToldTo) {
  std::atomic<bool> stop{true};
  UnwindTable table;
  EXPECT_FALSE(table.Compile(modules_.module(0), {}, stop));
}

// The address behind the empty entry that ends the section at `address`.
uint64_t EndOfEhFrame(uint64_t address) {
  for (uint32_t size = 1; size != 0; address += size) {
    std::memcpy(&size, reinterpret_cast<const void*>(address), sizeof size);
    address += sizeof size;
  }
  return address;
}

// Another module in its place, that is gone again by the time of the check.
TEST_F(UnwindTableTest, KnowsWhetherItIsOfWhatIsInMemory) {
  Module module = modules_.module(0);
  const auto* begin = reinterpret_cast<const char*>(module.eh_frame_hdr);
  const uint64_t size_bytes = EndOfEhFrame(EhFrameAddress(module)) - module.eh_frame_hdr;
  std::vector<char> copy(begin, begin + size_bytes);
  copy.resize(size_bytes + 1000);
  module.load_bias += reinterpret_cast<uint64_t>(copy.data()) - module.eh_frame_hdr;
  module.eh_frame_hdr = reinterpret_cast<uint64_t>(copy.data());
  UnwindTable table;
  ASSERT_TRUE(table.Compile(module, {}, g_never_stop));
  EXPECT_TRUE(table.WasReadFrom(module));
  EXPECT_FALSE(table.WasReadFrom(modules_.module(0)));
  char& in_the_middle = copy[EhFrameAddress(module) - module.eh_frame_hdr + 100];
  in_the_middle ^= 1;
  EXPECT_FALSE(table.WasReadFrom(module));
  in_the_middle ^= 1;
  EXPECT_TRUE(table.WasReadFrom(module));
  std::fill(copy.begin() + static_cast<ptrdiff_t>(size_bytes), copy.end(), 'x');  // past the section's end
  EXPECT_TRUE(table.WasReadFrom(module));
}

TEST(UnwindTable, AModuleWithoutTablesOrWithDamagedOnesHasNone) {
  Module module{};
  UnwindTable table;
  EXPECT_FALSE(table.Compile(module, {}, g_never_stop));
  // Headers that lead nowhere, and into rubbish.
  alignas(8) unsigned char header[64] = {1, 0x1b, 0x03, 0x3b, 0x10, 0, 0, 0, 1, 0, 0, 0};
  std::memset(header + 16, 0xa5, sizeof header - 16);
  module.eh_frame_hdr = reinterpret_cast<uint64_t>(header);
  EXPECT_FALSE(table.Compile(module, {}, g_never_stop));
  module.eh_frame_hdr = 4096;
  EXPECT_FALSE(table.Compile(module, {}, g_never_stop));
  EhFrameSearch search;
  PageCache pages;
  FoundRule found;
  EXPECT_FALSE(search.Find(module, 100, &pages, &found));
}

// An .eh_frame as a file has it: absolute addresses of 32 bits.
class TableInFile {
 public:
  static constexpr uint64_t kAddress = 0x400000;

  // Returns its offset.
  size_t AddCommon(const std::string& augmentation = "zR") {
    return Add(std::string(4, '\0') + '\1' + augmentation + std::string("\0\1\x78", 3) +
               static_cast<char>(Registers::kReturnAddress) + std::string("\1\x03", 2) + '\x0c' +
               static_cast<char>(Registers::kStackPointer) + '\x08' +
               static_cast<char>(0x80 | Registers::kReturnAddress) + '\1');
  }
  void AddFunction(size_t common, uint32_t begin, uint32_t size, const std::string& instructions = "") {
    auto distance = static_cast<uint32_t>(bytes_.size() + sizeof(uint32_t) - common);
    Add(Word(distance) + Word(begin) + Word(size) + '\0' + instructions);
  }
  void AddBytes(const std::string& bytes) { bytes_ += bytes; }

  bool Compile(UnwindTable* table) const {
    return table->Compile({}, {{bytes_.data(), bytes_.size(), kAddress}, {}}, g_never_stop);
  }
  const std::string& bytes() const { return bytes_; }

  template <typename T>
  static std::string Word(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string Uleb(uint32_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
    return bytes + static_cast<char>(value);
  }

 private:
  size_t Add(const std::string& content) {
    size_t at = bytes_.size();
    bytes_ += Word(static_cast<uint32_t>(content.size())) + content;
    return at;
  }

  std::string bytes_;
};

TEST(UnwindTable, AnEntryThatLeadsBackEndsTheSection) {
  TableInFile section;
  section.AddFunction(section.AddCommon(), 0x1000, 0x10);
  const uint64_t back_to_begin = -uint64_t{section.bytes().size()};
  section.AddBytes(TableInFile::Word(UINT32_MAX) + TableInFile::Word(back_to_begin - 12) +
                   std::string(8, '\1'));
  UnwindTable table;
  ASSERT_TRUE(section.Compile(&table));
  EXPECT_EQ(table.function_count(), 1u);

  // In memory it is not known where the section ends.
  alignas(8) static char memory[512];
  const char kinds[] = {1, pointer_encoding::kUdata8, pointer_encoding::kUdata4, pointer_encoding::kUdata8};
  std::memcpy(memory, kinds, sizeof kinds);
  auto address = reinterpret_cast<uint64_t>(memory + 16);
  std::memcpy(memory + 4, &address, sizeof address);
  std::memcpy(memory + 16, section.bytes().data(), section.bytes().size());
  Module module{};
  module.eh_frame_hdr = reinterpret_cast<uint64_t>(memory);
  UnwindTable of_memory;
  of_memory.Compile(module, {}, g_never_stop);
  EXPECT_LE(of_memory.function_count(), 1u);
}

TEST(UnwindTable, ACommonEntryThatCannotBeReadSpoilsNoOther) {
  TableInFile section;
  const size_t good = section.AddCommon();
  const size_t bad = section.AddCommon("eh");
  section.AddFunction(good, 0x1000, 0x10);
  section.AddFunction(bad, 0x2000, 0x10);
  section.AddFunction(good, 0x3000, 0x10);
  UnwindTable table;
  ASSERT_TRUE(section.Compile(&table));
  FoundRule found;
  EXPECT_TRUE(table.Find(0x1008, &found));
  EXPECT_FALSE(table.Find(0x2008, &found));
  EXPECT_TRUE(table.Find(0x3008, &found));
}

TEST(UnwindTable, AFunctionMayHaveAMillionRows) {
  constexpr uint32_t kRows = 1 << 20;
  TableInFile section;
  std::string instructions;
  for (uint32_t i = 0; i < kRows; ++i) instructions += "\x0a\x0b\x41";  // remembers, restores, advances
  section.AddFunction(section.AddCommon(), 0x1000, kRows + 1, instructions);
  UnwindTable table;
  ASSERT_TRUE(section.Compile(&table));
  EXPECT_EQ(table.row_count(), 3u);
}

// The processor time of compiling a function with so many rules, all of them different in one offset.
int64_t NsToCompileRules(uint32_t count, const std::string& set_offset) {
  TableInFile section;
  std::string instructions;
  for (uint32_t i = 1; i <= count; ++i) instructions += set_offset + TableInFile::Uleb(i) + '\x41';
  section.AddFunction(section.AddCommon(), 0x1000, count, instructions);
  auto now_ns = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
  };
  const int64_t begin_ns = now_ns();
  UnwindTable table;
  EXPECT_TRUE(section.Compile(&table));
  EXPECT_GE(table.row_count(), count);
  EXPECT_EQ(table.dropped_count(), 0u);
  return now_ns() - begin_ns;
}

TEST(UnwindTable, RulesMayDifferInAnyOffset) {
  constexpr uint32_t kRules = 40'000;
  const std::string cfa_offset = "\x0e";
  const std::string return_address(1, static_cast<char>(0x80 | Registers::kReturnAddress));
  EXPECT_LT(NsToCompileRules(kRules, return_address), 20 * NsToCompileRules(kRules, cfa_offset));
}

TEST(UnwindTable, RulesThatDoNotFitAreDropped) {
  constexpr uint32_t kRules = 200'000;
  TableInFile section;
  std::string instructions;
  for (uint32_t i = 1; i <= kRules; ++i) instructions += '\x0e' + TableInFile::Uleb(i) + '\x41';
  section.AddFunction(section.AddCommon(), 0x1000, kRules, instructions);
  UnwindTable table;
  ASSERT_TRUE(section.Compile(&table));
  EXPECT_GE(table.dropped_count(), kRules - (UINT16_MAX + 1));
  FoundRule found;
  ASSERT_TRUE(table.Find(0x1000 + 1000, &found));
  EXPECT_EQ(found.rule.cfa_offset, 1001);
  EXPECT_FALSE(table.Find(0x1000 + kRules - 1, &found));
}

}  // namespace
}  // namespace lagwatch::stack
