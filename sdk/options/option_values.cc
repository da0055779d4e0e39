// SPDX-License-Identifier: Apache-2.0
#include "sdk/options/option_values.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace lagwatch::sdk {
namespace {

std::string ToText(const char* text) { return text == nullptr ? std::string() : std::string(text); }

uint32_t InRange(uint32_t value, uint32_t least, uint32_t most, std::string_view special) {
  return value == 0 && special.starts_with("0:") ? 0 : std::clamp(value, least, most);
}

// True if `text` is a whole number that `value` can hold.
template <typename T>
bool ReadNumber(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, *value);
  return read.ec == std::errc() && read.ptr == end;
}

bool SetNumber(std::string_view text, uint32_t* member) {
  uint32_t value = 0;
  if (!ReadNumber(text, &value)) return false;
  *member = value;
  return true;
}

bool SetSwitch(std::string_view text, uint32_t* member) {
  for (std::string_view on : {"1", "on", "true", "yes"})
    if (text == on) return *member = 1, true;
  for (std::string_view off : {"0", "off", "false", "no"})
    if (text == off) return *member = 0, true;
  return false;
}

bool SetSignal(std::string_view text, int32_t* member) {
  int32_t value = 0;
  if (!ReadNumber(text, &value) || value < 0) return false;
  *member = value;
  return true;
}

bool SetChoice(std::string_view text, uint32_t last, uint32_t* member) {
  uint32_t value = 0;
  if (!ReadNumber(text, &value) || value > last) return false;
  *member = value;
  return true;
}

}  // namespace

void SetDefaults(lw_options* options) {
  std::memset(options, 0, sizeof *options);
  options->struct_size_bytes = sizeof *options;
#define OPTION_NUMBER(name, path, flag, standard, ...) options->name = standard;
#define OPTION_CHOICE(name, path, flag, type, standard, ...) options->name = standard;
#include "policies/options/options.def"
}

bool SetOption(lw_options* options, std::string_view name, const char* value) {
  const std::string_view text = value == nullptr ? std::string_view() : std::string_view(value);
  auto has = [options](const auto& member) {
    const auto end_bytes =
        reinterpret_cast<const char*>(&member + 1) - reinterpret_cast<const char*>(options);
    return static_cast<size_t>(end_bytes) <= options->struct_size_bytes;
  };
#define OPTION_TEXT(member, ...) \
  if (name == #member) return has(options->member) && (options->member = value, true);
#define OPTION_NUMBER(member, ...) \
  if (name == #member) return has(options->member) && SetNumber(text, &options->member);
#define OPTION_SWITCH(member, ...) \
  if (name == #member) return has(options->member) && SetSwitch(text, &options->member);
#define OPTION_SIGNAL(member, ...) \
  if (name == #member) return has(options->member) && SetSignal(text, &options->member);
#define OPTION_CHOICE(member, path, flag, type, standard, last, help) \
  if (name == #member) return has(options->member) && SetChoice(text, last, &options->member);
#include "policies/options/options.def"
  return false;
}

Options ToOptions(const lw_options* given) {
  lw_options raw;
  SetDefaults(&raw);
  if (given != nullptr) std::memcpy(&raw, given, std::min(given->struct_size_bytes, sizeof raw));
  Options options;
#define OPTION_TEXT(name, path, ...) options.path = ToText(raw.name);
#define OPTION_NUMBER(name, path, ...) options.path = raw.name;
#define OPTION_SWITCH(name, path, ...) options.path = raw.name != 0;
#define OPTION_SIGNAL(name, path, ...) options.path = raw.name;
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) \
  options.path = raw.name <= (last) ? static_cast<type>(raw.name) : (standard);
#define OPTION_HOOK(name, path, ...) options.path = raw.name;
#include "policies/options/options.def"
  return Clamped(std::move(options));
}

Options Clamped(Options options) {
#define OPTION_NUMBER(name, path, flag, standard, least, most, special, help) \
  options.path = InRange(options.path, least, most, special);
#include "policies/options/options.def"
  return options;
}

}  // namespace lagwatch::sdk
