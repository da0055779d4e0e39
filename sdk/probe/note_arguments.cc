// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/note_arguments.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>

namespace lagwatch::sdk {
namespace {

constexpr std::string_view kLettered[] = {"ax", "dx", "cx", "bx", "si", "di", "bp", "sp"};

struct Register {
  uint8_t number = NoteArgument::kNoRegister;
  uint8_t shift = 0;
};

// "rax", "eax", "ax", "al", "ah", "sil", "r8", "r8d", "r8w", "r8b"; without the percent sign.
std::optional<Register> ParseRegister(std::string_view name) {
  if (name.size() >= 2 && name[0] == 'r' && name[1] >= '0' && name[1] <= '9') {
    if (const char last = name.back(); last == 'd' || last == 'w' || last == 'b') name.remove_suffix(1);
    uint8_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    const bool is_known =
        error == std::errc() && end == name.data() + name.size() && number >= 8 && number < 16;
    return is_known ? std::optional(Register{number}) : std::nullopt;
  }
  for (uint8_t i = 0; i < std::size(kLettered); ++i) {
    const std::string letters(kLettered[i]);
    if (name == letters || name == "r" + letters || name == "e" + letters || name == letters + "l")
      return Register{i};
    const bool has_bytes = letters[1] == 'x';
    if (has_bytes && name == letters.substr(0, 1) + "l") return Register{i};
    if (has_bytes && name == letters.substr(0, 1) + "h") return Register{i, 8};
  }
  return std::nullopt;
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int64_t>(is_negative ? -number : number);
}

// "%rbx", "%rbx,%rcx,4" or ",%rcx,4".
bool ParseAddress(std::string_view text, NoteArgument* argument) {
  for (int part = 0; part < 3; ++part) {
    const size_t comma = text.find(',');
    const std::string_view field = text.substr(0, comma);
    if (part < 2 && !field.empty()) {
      const auto found = field[0] == '%' ? ParseRegister(field.substr(1)) : std::nullopt;
      if (!found || found->shift != 0) return false;
      (part == 0 ? argument->base : argument->index) = found->number;
    } else if (part == 2) {
      const auto scale = ParseNumber(field);
      if (!scale || (*scale != 1 && *scale != 2 && *scale != 4 && *scale != 8)) return false;
      argument->scale = static_cast<uint8_t>(*scale);
    }
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

// Leaves kUnknown where it does not understand the operand.
void ParseOperand(std::string_view text, NoteArgument* argument) {
  using Kind = NoteArgument::Kind;
  if (text.starts_with('$')) {
    if (const auto number = ParseNumber(text.substr(1))) {
      argument->kind = Kind::kConstant;
      argument->number = *number;
    }
  } else if (text.starts_with('%')) {
    if (const auto found = ParseRegister(text.substr(1))) {
      argument->kind = Kind::kRegister;
      argument->base = found->number;
      argument->shift = found->shift;
    }
  } else if (const size_t open = text.find('('); open != std::string_view::npos && text.ends_with(')')) {
    const auto distance = open == 0 ? std::optional<int64_t>(0) : ParseNumber(text.substr(0, open));
    if (!distance || !ParseAddress(text.substr(open + 1, text.size() - open - 2), argument)) return;
    argument->kind = Kind::kMemory;
    argument->number = *distance;
  }
}

// "-4@%eax", "8@-16(%rbp)", "8f@%xmm0"; of old files without the size.
NoteArgument ParseArgument(std::string_view text) {
  NoteArgument argument;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    const auto size = ParseNumber(text.substr(0, at));
    if (!size) return argument;  // a floating-point number
    argument.is_signed = *size < 0;
    const int64_t bytes = *size < 0 ? -*size : *size;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return argument;
    argument.size = static_cast<uint8_t>(bytes);
    text.remove_prefix(at + 1);
  }
  ParseOperand(text, &argument);
  return argument;
}

}  // namespace

uint64_t NoteArgument::AddressWith(const uint64_t registers[16]) const {
  uint64_t address = static_cast<uint64_t>(number);
  if (base != kNoRegister) address += registers[base];
  if (index != kNoRegister) address += registers[index] * scale;
  return address;
}

uint64_t NoteArgument::Widen(uint64_t bits) const {
  if (size >= sizeof bits) return bits;
  const int unused = 64 - 8 * size;
  const uint64_t high = bits << unused;
  return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(high) >> unused) : high >> unused;
}

std::vector<NoteArgument> ParseNoteArguments(std::string_view text) {
  std::vector<NoteArgument> arguments;
  while (arguments.size() < kMaxNoteArguments) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    const size_t end = std::min(text.find(' '), text.size());
    arguments.push_back(ParseArgument(text.substr(0, end)));
    text.remove_prefix(end);
  }
  return arguments;
}

}  // namespace lagwatch::sdk
