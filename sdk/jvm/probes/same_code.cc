// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/probes/same_code.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace lagwatch::sdk::jvm {
namespace {

// The instructions of JVMS 17, chapter 6.5, by ranges up to `last`.
struct InstructionRow {
  unsigned char last;
  unsigned char size;        // with the opcode; 0: depends on what follows
  unsigned char index_size;  // of the number of a constant, behind the opcode
};
constexpr unsigned char kTableSwitch = 170;
constexpr unsigned char kLookupSwitch = 171;
constexpr unsigned char kWide = 196;
constexpr unsigned char kIinc = 132;
constexpr InstructionRow kInstructions[] = {
    {15, 1, 0},             // constants
    {16, 2, 0},             // bipush
    {17, 3, 0},             // sipush
    {18, 2, 1},             // ldc
    {20, 3, 2},             // ldc_w, ldc2_w
    {25, 2, 0},             // loads
    {53, 1, 0},             // loads with the variable's number
    {58, 2, 0},             // stores
    {131, 1, 0},            // stores with the variable's number, arrays, the stack, arithmetic
    {kIinc, 3, 0},          //
    {152, 1, 0},            // conversions, comparisons
    {168, 3, 0},            // jumps
    {169, 2, 0},            // ret
    {kLookupSwitch, 0, 0},  // and tableswitch
    {177, 1, 0},            // returns
    {184, 3, 2},            // fields, calls
    {186, 5, 2},            // invokeinterface, invokedynamic
    {187, 3, 2},            // new
    {188, 2, 0},            // newarray
    {189, 3, 2},            // anewarray
    {191, 1, 0},            // arraylength, athrow
    {193, 3, 2},            // checkcast, instanceof
    {195, 1, 0},            // monitors
    {kWide, 0, 0},          //
    {197, 4, 2},            // multianewarray
    {199, 3, 0},            // ifnull, ifnonnull
    {201, 5, 0},            // goto_w, jsr_w
};

int64_t Int32At(std::span<const unsigned char> code, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value = value << 8 | (at + i < code.size() ? code[at + i] : 0u);
  return static_cast<int32_t>(value);
}

// Of a switch or `wide` at `at`; 0 if it is not valid.
size_t SizeOfLong(std::span<const unsigned char> code, size_t at) {
  if (code[at] == kWide) return at + 1 < code.size() && code[at + 1] == kIinc ? 6 : 4;
  const size_t table = (at + 4) / 4 * 4;  // behind the padding
  const bool is_table = code[at] == kTableSwitch;
  const int64_t rows =
      is_table ? Int32At(code, table + 8) - Int32At(code, table + 4) + 1 : Int32At(code, table + 4);
  if (rows < 0) return 0;
  return table + (is_table ? 12 : 8) + static_cast<size_t>(rows) * (is_table ? 4 : 8) - at;
}

}  // namespace

bool IsSameCode(const std::vector<unsigned char>& before, const std::vector<unsigned char>& after) {
  if (before.size() != after.size()) return false;
  for (size_t at = 0; at < before.size();) {
    const auto* row = std::ranges::lower_bound(kInstructions, before[at], {}, &InstructionRow::last);
    if (row == std::end(kInstructions)) return false;
    const size_t size = row->size != 0 ? row->size : SizeOfLong(before, at);
    if (size == 0 || size > before.size() - at || before[at] != after[at]) return false;
    const auto begin = static_cast<ptrdiff_t>(at + 1 + row->index_size);
    const auto end = static_cast<ptrdiff_t>(at + size);
    if (!std::equal(before.begin() + begin, before.begin() + end, after.begin() + begin)) return false;
    at += size;
  }
  return true;
}

}  // namespace lagwatch::sdk::jvm
