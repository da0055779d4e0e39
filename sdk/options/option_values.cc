// SPDX-License-Identifier: Apache-2.0
#include "sdk/options/option_values.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace lagwatch::sdk {
namespace {

std::string ToText(const char* text) { return text == nullptr ? std::string() : std::string(text); }

uint32_t InRange(uint32_t value, uint32_t least, uint32_t most, std::string_view special) {
  return value == 0 && special.starts_with("0:") ? 0 : std::clamp(value, least, most);
}

}  // namespace

void SetDefaults(lw_options* options) {
  std::memset(options, 0, sizeof *options);
  options->struct_size_bytes = sizeof *options;
#define OPTION_NUMBER(name, path, flag, standard, ...) options->name = standard;
#define OPTION_CHOICE(name, path, flag, type, standard, ...) options->name = standard;
#include "policies/options/options.def"
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
