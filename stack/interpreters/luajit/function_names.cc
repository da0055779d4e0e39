// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/luajit/function_names.h"

#include <algorithm>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::luajit {
namespace {

constexpr int32_t kMostCode = 1 << 24;
constexpr int32_t kMostLines = 1 << 24;

// Bit i: the instruction sets the slot of its operand A.
constexpr uint64_t kSetsA[2] = {0x0f782ffffffc3000, 0x00000000fe000000};
// Bit i: it sets slots from that of its operand A on.
constexpr uint64_t kSetsFromA[2] = {0x8000100000000000, 0x00000000001fe3fe};

constexpr bool Has(const uint64_t (&bits)[2], uint32_t opcode) {
  return opcode < 128 && (bits[opcode / 64] >> opcode % 64 & 1) != 0;
}

struct Metamethod {
  uint8_t first;
  uint8_t last;
  std::string_view name;
};
constexpr std::array<Metamethod, 25> kMetamethods = {
    {{0, 1, "__lt"},        {2, 3, "__le"},       {4, 11, "__eq"},     {20, 20, "__unm"},
     {21, 21, "__len"},     {22, 22, "__add"},    {23, 23, "__sub"},   {24, 24, "__mul"},
     {25, 25, "__div"},     {26, 26, "__mod"},    {27, 27, "__add"},   {28, 28, "__sub"},
     {29, 29, "__mul"},     {30, 30, "__div"},    {31, 31, "__mod"},   {32, 32, "__add"},
     {33, 33, "__sub"},     {34, 34, "__mul"},    {35, 35, "__div"},   {36, 36, "__mod"},
     {37, 37, "__pow"},     {38, 38, "__concat"}, {54, 54, "__index"}, {56, 59, "__index"},
     {55, 64, "__newindex"}}};

// The names of slots that LuaJIT needs itself have numbers.
constexpr uint8_t kFirstName = 7;

// One number of a name's range, 7 bits in each byte. False at the end.
bool ConsumeNumber(std::span<const uint8_t>* bytes, uint32_t* number) {
  *number = 0;
  for (uint32_t shift = 0; !bytes->empty() && shift < 32; shift += 7) {
    const uint8_t byte = bytes->front();
    *bytes = bytes->subspan(1);
    *number |= uint32_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The text up to its zero; takes both away. None if there is no zero.
bool ConsumeText(std::span<const uint8_t>* bytes, std::span<const uint8_t>* text) {
  const auto end = std::ranges::find(*bytes, uint8_t{0});
  if (end == bytes->end()) return false;
  const auto size = static_cast<size_t>(end - bytes->begin());
  *text = bytes->first(size);
  *bytes = bytes->subspan(size + 1);
  return true;
}

}  // namespace

int32_t Prototype::IndexBefore(uint64_t next) const {
  const uint64_t offset = next - code();
  const uint64_t size = static_cast<uint64_t>(code_count) * sizeof(uint32_t);
  if (offset == 0 || offset > size || offset % sizeof(uint32_t) != 0) return -1;
  return static_cast<int32_t>(offset / sizeof(uint32_t)) - 1;
}

bool ReadPrototype(Memory* memory, uint64_t address, Prototype* prototype) {
  prototype->address = address;
  if (address == 0 || address % 8 != 0 || !memory->Read(address, &prototype->bytes)) return false;
  prototype->code_count = MemberAt<int32_t>(prototype->bytes, kCodeCount);
  prototype->first_line = MemberAt<int32_t>(prototype->bytes, kFirstLine);
  const auto size = MemberAt<uint32_t>(prototype->bytes, kBytes);
  return prototype->bytes[kType] == kPrototypeType && prototype->code_count > 0 &&
         prototype->code_count < kMostCode && prototype->first_line >= 0 &&
         size >= kPrototypeBytes + static_cast<uint64_t>(prototype->code_count) * sizeof(uint32_t);
}

uint32_t ReadLine(Memory* memory, const Prototype& prototype, int32_t index) {
  const auto lines = MemberAt<uint64_t>(prototype.bytes, kLines);
  const auto line_count = MemberAt<int32_t>(prototype.bytes, kLineCount);
  if (index < 0 || index >= prototype.code_count || lines == 0 || line_count < 0 || line_count > kMostLines)
    return 0;
  const auto first = static_cast<uint32_t>(prototype.first_line);
  if (index == 0) return first;  // the function's header
  const uint64_t size = line_count < 256 ? 1 : line_count < 65536 ? 2 : 4;
  uint32_t line = 0;  // the low bytes come first
  if (!memory->Read(lines + static_cast<uint64_t>(index - 1) * size, &line, size)) return 0;
  return line <= static_cast<uint32_t>(line_count) ? first + line : 0;
}

size_t ReadText(Memory* memory, uint64_t address, std::span<char> text, bool keeps_end) {
  constexpr uint64_t kMostBytes = 1 << 20;
  std::array<uint8_t, kTextBytes> header;
  if (address == 0 || address % 8 != 0 || !memory->Read(address, &header) || header[kType] != kTextType)
    return 0;
  for (const size_t place : {kTextLength, kOldTextLength}) {
    const uint64_t size = MemberAt<uint32_t>(header, place);
    char end = 1;
    if (size == 0 || size > kMostBytes || !memory->Read(address + kTextBytes + size, &end) || end != 0)
      continue;
    const size_t kept = std::min<size_t>(size, text.size());
    if (!memory->Read(address + kTextBytes + (keeps_end ? size - kept : 0), text.data(), kept)) return 0;
    // Only the first line of a text is shown.
    CleanText(text.first(kept), '\n');
    return kept;
  }
  return 0;
}

std::string_view FunctionNames::NameOfCallee(Memory* memory, const Prototype& caller, int32_t index) {
  memory_ = memory;
  caller_ = &caller;
  if (index < 0 || index >= caller.code_count) return {};
  const int32_t first = std::max(0, index - (kMostInstructions - 1));
  if (!ReadInstructions(caller, first, index - first + 1)) return {};
  const uint32_t instruction = InstructionAt(index);
  const uint32_t opcode = OpcodeOf(instruction);
  if (opcode == kCallIterator || opcode == kCallNext) return "for iterator";
  if (kFirstCall <= opcode && opcode <= kLastCall) return NameOfSlot(OperandA(instruction), index);
  const auto found = std::ranges::find_if(kMetamethods, [&](const Metamethod& metamethod) {
    return metamethod.first <= opcode && opcode <= metamethod.last;
  });
  return found == kMetamethods.end() ? std::string_view() : found->name;
}

int32_t FunctionNames::FindLoop(Memory* memory, const Prototype& function, uint32_t number) {
  memory_ = memory;
  for (int32_t first = 0; first < function.code_count; first += kMostInstructions) {
    const int32_t count = std::min(kMostInstructions, function.code_count - first);
    if (!ReadInstructions(function, first, count)) return -1;
    for (int32_t index = first; index < first + count; ++index) {
      const uint32_t instruction = InstructionAt(index);
      const uint32_t opcode = OpcodeOf(instruction);
      const bool is_header = index == 0 && opcode >= kFirstHeader;
      if (OperandD(instruction) == number && (is_header || std::ranges::count(kCompiledLoops, opcode) != 0))
        return index;
    }
  }
  return -1;
}

bool FunctionNames::ReadInstructions(const Prototype& function, int32_t first, int32_t count) {
  first_ = first;
  return memory_->Read(function.code() + static_cast<uint64_t>(first) * sizeof(uint32_t),
                       instructions_.data(), static_cast<size_t>(count) * sizeof(uint32_t));
}

std::string_view FunctionNames::NameOfSlot(uint32_t slot, int32_t index) {
  if (const std::string_view name = NameOfLocal(slot, index); !name.empty()) return name;
  while (--index > first_) {
    const uint32_t instruction = InstructionAt(index);
    const uint32_t opcode = OpcodeOf(instruction);
    const uint32_t a = OperandA(instruction);
    if (Has(kSetsFromA, opcode)) {
      if (slot >= a && (opcode != kLoadNil || slot <= OperandD(instruction))) return {};
      continue;
    }
    if (!Has(kSetsA, opcode) || a != slot) continue;
    if (opcode == kGetGlobal) return NameOfConstant(OperandD(instruction));
    if (opcode == kGetField) return NameOfConstant(OperandC(instruction));
    if (opcode == kGetUpvalue) return NameOfUpvalue(OperandD(instruction));
    if (opcode != kMove) return {};
    // A copy of what an earlier instruction has loaded.
    slot = OperandD(instruction);
    if (const std::string_view name = NameOfLocal(slot, index); !name.empty()) return name;
  }
  return {};
}

// Names with the instructions from and up to which each is in scope, each relative to the one before.
std::string_view FunctionNames::NameOfLocal(uint32_t slot, int32_t index) {
  const auto at = static_cast<uint32_t>(index);
  uint32_t begin = 0;
  for (std::span<const uint8_t> bytes = ReadNames(kLocalNames); !bytes.empty() && bytes.front() != 0;) {
    std::span<const uint8_t> text;
    if (bytes.front() < kFirstName) {
      bytes = bytes.subspan(1);
    } else if (!ConsumeText(&bytes, &text)) {
      return {};
    }
    uint32_t skipped = 0;
    uint32_t size = 0;
    if (!ConsumeNumber(&bytes, &skipped)) return {};
    begin += skipped;
    if (begin > at || !ConsumeNumber(&bytes, &size)) return {};
    if (at >= begin + size || slot-- != 0) continue;
    const size_t kept = std::min(text.size(), name_.size());
    std::copy_n(text.begin(), kept, name_.begin());
    CleanText({name_.data(), kept});
    return {name_.data(), kept};
  }
  return {};
}

std::string_view FunctionNames::NameOfUpvalue(uint32_t number) {
  if (number >= caller_->bytes[kUpvalueCount]) return {};
  std::span<const uint8_t> bytes = ReadNames(kUpvalueNames);
  std::span<const uint8_t> text;
  for (uint32_t i = 0; i <= number; ++i) {
    if (!ConsumeText(&bytes, &text)) return {};
  }
  const size_t kept = std::min(text.size(), name_.size());
  std::copy_n(text.begin(), kept, name_.begin());
  CleanText({name_.data(), kept});
  return {name_.data(), kept};
}

std::string_view FunctionNames::NameOfConstant(uint32_t number) {
  const auto end = MemberAt<uint64_t>(caller_->bytes, kConstants);
  uint64_t text = 0;
  if (number >= MemberAt<uint32_t>(caller_->bytes, kConstantCount) ||
      !memory_->Read(end - (uint64_t{number} + 1) * sizeof text, &text))
    return {};
  return {name_.data(), ReadText(memory_, text, name_)};
}

std::span<const uint8_t> FunctionNames::ReadNames(size_t offset) {
  const auto begin = MemberAt<uint64_t>(caller_->bytes, offset);
  const uint64_t end = caller_->address + MemberAt<uint32_t>(caller_->bytes, kBytes);
  if (begin <= caller_->address || begin >= end) return {};
  const auto size = static_cast<size_t>(std::min<uint64_t>(end - begin, names_.size()));
  if (!memory_->Read(begin, names_.data(), size)) return {};
  return std::span(names_).first(size);
}

}  // namespace lagwatch::stack::luajit
