// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/preload_config.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lagwatch::sdk {
namespace {

constexpr std::pair<std::string_view, std::string PreloadConfig::*> kTexts[] = {
    {"app", &PreloadConfig::app},
    {"script", &PreloadConfig::script},
    {"app_version", &PreloadConfig::app_version},
    {"user", &PreloadConfig::user},
    {"spool", &PreloadConfig::spool_directory},
    {"threads", &PreloadConfig::threads},
    {"children", &PreloadConfig::children},
    {"expensive", &PreloadConfig::expensive},
    {"traces_patched_modules", &PreloadConfig::traces_patched_modules},
    {"trace_arena", &PreloadConfig::trace_arena},
    {"trace_patched_modules", &PreloadConfig::trace_patched_modules},
    {"trace_patched_functions", &PreloadConfig::trace_patched_functions},
    {"trace_unpatched_functions", &PreloadConfig::trace_unpatched_functions},
};

constexpr std::pair<std::string_view, uint32_t PreloadConfig::*> kNumbers[] = {
    {"threshold_ms", &PreloadConfig::threshold_ms},
    {"anr_threshold_ms", &PreloadConfig::anr_threshold_ms},
    {"check_period_ms", &PreloadConfig::check_period_ms},
    {"sample_interval_ms", &PreloadConfig::sample_interval_ms},
    {"dump_signal", &PreloadConfig::dump_signal},
    {"is_sent", &PreloadConfig::is_sent},
    {"is_watched", &PreloadConfig::is_watched},
    {"seccomp_filters", &PreloadConfig::seccomp_filters},
    {"seccomp_is_allowed", &PreloadConfig::seccomp_is_allowed},
    {"is_verbose", &PreloadConfig::is_verbose},
    {"run_pid", &PreloadConfig::run_pid},
    {"has_traces", &PreloadConfig::has_traces},
    {"traces_interval_ms", &PreloadConfig::traces_interval_ms},
    {"traces_hooks", &PreloadConfig::traces_hooks},
    {"traces_before_s", &PreloadConfig::traces_before_s},
    {"traces_slow_ms", &PreloadConfig::traces_slow_ms},
    {"traces_buffer_kib", &PreloadConfig::traces_buffer_kib},
    {"traces_max_kib", &PreloadConfig::traces_max_kib},
    {"reports_slow", &PreloadConfig::reports_slow},
    {"slow_dispatch_ms", &PreloadConfig::slow_dispatch_ms},
    {"trace_pid", &PreloadConfig::trace_pid},
    {"trace_main_interval_us", &PreloadConfig::trace_main_interval_us},
    {"trace_worker_interval_us", &PreloadConfig::trace_worker_interval_us},
    {"trace_worker_groups", &PreloadConfig::trace_worker_groups},
    {"trace_calls", &PreloadConfig::trace_calls},
    {"trace_hook_interval_us", &PreloadConfig::trace_hook_interval_us},
};

}  // namespace

std::string PreloadConfig::ToText() const {
  std::string text;
  auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append("=").append(value).append("\n");
  };
  for (const auto& [name, member] : kTexts) add(name, this->*member);
  for (const auto& [name, member] : kNumbers) add(name, std::to_string(this->*member));
  if (had_preload) text.append(kPreviousPreloadName).append(previous_preload).append("\n");
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
    for (const auto& [text_name, member] : kTexts) {
      if (name == text_name) config.*member = value;
    }
    for (const auto& [number_name, member] : kNumbers) {
      if (name == number_name)
        config.*member = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    }
    if (name == "preload") {
      config.had_preload = true;
      config.previous_preload = value;
    }
  }
  return config;
}

ChildrenFollowed PreloadConfig::children_followed() const {
  if (children == "none") return ChildrenFollowed::kNone;
  return children == "all" ? ChildrenFollowed::kAll : ChildrenFollowed::kExec;
}

bool PreloadConfig::HasLineEnd() const {
  return previous_preload.find('\n') != std::string::npos ||
         std::ranges::any_of(kTexts, [this](const auto& text) {
           return (this->*text.second).find('\n') != std::string::npos;
         });
}

}  // namespace lagwatch::sdk
