// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/dispatch_tag.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace lagwatch::watchdog {
namespace {

constexpr std::string_view kAddress = "&0x";
constexpr std::string_view kPlace = "+0x";
constexpr size_t kMaxDigits = 16;
constexpr int kHexadecimal = 16;

// As much of `name` as fits, then `sign` and the number.
void Write(std::string_view name, std::string_view sign, uint64_t number, std::span<char> text) {
  char digits[kMaxDigits];
  const size_t digit_count =
      static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, number, kHexadecimal).ptr - digits);
  const size_t rest = sign.size() + digit_count + 1;
  if (text.size() < rest) return;
  size_t size = name.copy(text.data(), text.size() - rest);
  size += sign.copy(text.data() + size, sign.size());
  std::memcpy(text.data() + size, digits, digit_count);
  text[size + digit_count] = '\0';
}

}  // namespace

bool WriteFunctionTag(const char* tag, std::span<char> text) {
  const uint64_t address = reinterpret_cast<uintptr_t>(tag);
  if ((address & kFunctionTagBits) != kFunctionTagBits) return false;
  Write("", kAddress, address & ~kFunctionTagBits, text);
  return true;
}

bool IsFunctionTag(std::span<const char> text) {
  return std::string_view(text.data(), text.size()).starts_with(kAddress);
}

void PlaceFunctionTag(const stack::ModuleMap& modules, std::span<char> text) {
  const std::string_view tag(text.data(), strnlen(text.data(), text.size()));
  if (!tag.starts_with(kAddress)) return;
  uint64_t address = 0;
  const char* end = tag.data() + tag.size();
  const auto parsed = std::from_chars(tag.data() + kAddress.size(), end, address, kHexadecimal);
  if (parsed.ec != std::errc() || parsed.ptr != end) return;
  const stack::ModuleMap::CodeRange* code = modules.FindRange(address);
  if (code == nullptr || code->module == stack::kNoModule) return;
  Write(modules.module(code->module).file_name(), kPlace, address - code->load_bias, text);
}

}  // namespace lagwatch::watchdog
