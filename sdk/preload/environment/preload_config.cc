// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/preload_config.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sdk/options/option_values.h"

namespace lagwatch::sdk {
namespace {

constexpr std::pair<std::string_view, std::string PreloadConfig::*> kTexts[] = {
    {"script", &PreloadConfig::script},
    {"threads", &PreloadConfig::threads},
    {"children", &PreloadConfig::children},
    {"notify_socket", &PreloadConfig::notify_socket},
    {"probe_directory", &PreloadConfig::probe_directory},
    {"trace_arena", &PreloadConfig::trace_arena},
    {"trace_patched_modules", &PreloadConfig::trace_patched_modules},
    {"trace_patched_functions", &PreloadConfig::trace_patched_functions},
    {"trace_unpatched_functions", &PreloadConfig::trace_unpatched_functions},
    {"trace_rules", &PreloadConfig::trace_rules},
};

constexpr std::pair<std::string_view, uint32_t PreloadConfig::*> kNumbers[] = {
    {"is_sent", &PreloadConfig::is_sent},
    {"soft_watchdog", &PreloadConfig::soft_watchdog},
    {"watchdog_timeout_ms", &PreloadConfig::watchdog_timeout_ms},
    {"is_watched", &PreloadConfig::is_watched},
    {"seccomp_filters", &PreloadConfig::seccomp_filters},
    {"is_verbose", &PreloadConfig::is_verbose},
    {"run_pid", &PreloadConfig::run_pid},
    {"is_probing_forbidden", &PreloadConfig::is_probing_forbidden},
    {"probe_wait_ms", &PreloadConfig::probe_wait_ms},
    {"probe_pid", &PreloadConfig::probe_pid},
    {"trace_pid", &PreloadConfig::trace_pid},
    {"trace_main_interval_us", &PreloadConfig::trace_main_interval_us},
    {"trace_worker_interval_us", &PreloadConfig::trace_worker_interval_us},
    {"trace_worker_groups", &PreloadConfig::trace_worker_groups},
    {"trace_calls", &PreloadConfig::trace_calls},
    {"trace_call_limit", &PreloadConfig::trace_call_limit},
    {"trace_hook_interval_us", &PreloadConfig::trace_hook_interval_us},
};

uint32_t ToNumber(const std::string& value) {
  return static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
}

void TakeOption(std::string_view given, const std::string& value, Options* options) {
#define OPTION_TEXT(name, path, ...) \
  if (given == #name) options->path = value;
#define OPTION_NUMBER(name, path, ...) \
  if (given == #name) options->path = ToNumber(value);
#define OPTION_SWITCH(name, path, ...) \
  if (given == #name) options->path = ToNumber(value) != 0;
#define OPTION_SIGNAL(name, path, ...) \
  if (given == #name) options->path = static_cast<int32_t>(ToNumber(value));
#define OPTION_CHOICE(name, path, flag, type, ...) \
  if (given == #name) options->path = static_cast<type>(ToNumber(value));
#include "policies/options/options.def"
}

}  // namespace

std::string PreloadConfig::ToText() const {
  std::string text;
  auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append("=").append(value).append("\n");
  };
  const Options standard;
#define OPTION_TEXT(name, path, ...) \
  if (options.path != standard.path) add(#name, options.path);
#define OPTION_NUMBER(name, path, ...) \
  if (options.path != standard.path) add(#name, std::to_string(options.path));
#define OPTION_SWITCH OPTION_NUMBER
#define OPTION_SIGNAL OPTION_NUMBER
#define OPTION_CHOICE OPTION_NUMBER
#include "policies/options/options.def"
  for (const auto& [name, member] : kTexts) add(name, this->*member);
  for (const auto& [name, member] : kNumbers) add(name, std::to_string(this->*member));
  return text;
}

PreloadConfig PreloadConfig::Parse(std::string_view text) {
  PreloadConfig config;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = line.substr(0, equals);
    std::string value(line.substr(equals + 1));
    TakeOption(name, value, &config.options);
    for (const auto& [text_name, member] : kTexts) {
      if (name == text_name) config.*member = value;
    }
    for (const auto& [number_name, member] : kNumbers) {
      if (name == number_name) config.*member = ToNumber(value);
    }
  }
  config.options = Clamped(std::move(config.options));
  return config;
}

ChildrenFollowed PreloadConfig::children_followed() const {
  if (children == "none") return ChildrenFollowed::kNone;
  return children == "all" ? ChildrenFollowed::kAll : ChildrenFollowed::kExec;
}

bool PreloadConfig::HasLineEnd() const {
  bool has_line_end = false;
#define OPTION_TEXT(name, path, ...) \
  has_line_end = has_line_end || options.path.find('\n') != std::string::npos;
#include "policies/options/options.def"
  return has_line_end || std::ranges::any_of(kTexts, [this](const auto& text) {
           return (this->*text.second).find('\n') != std::string::npos;
         });
}

}  // namespace lagwatch::sdk
